"""The held-out pairs with the outputs of each model; those that most seeds get wrong come first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from explorer.experiments.model_variant import ModelVariant
from explorer.labs.translation.answers import load_view_model
from explorer.labs.translation.model_picker import loaded_views
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.pairs import Pair, PairsConfig
from explorer.ui.components.table import add_table, column
from explorer.ui.document import Document
from explorer.ui.result_section import result_section
from explorer.ui.training.run_view import RunView

MAX_PAIRS, _SHOWN = 200, 10  # held-out pairs whose sources the models translate, and rows of the table


@dataclass(frozen=True)
class Outputs:
    """The output of every seed of a model for the sources of some pairs; None where it generates no end token."""

    pairs: tuple[Pair, ...]
    texts: tuple[tuple[str | None, ...], ...]  # by pair and seed


def section(state: TranslationState, views: Mapping[str, RunView]) -> None:
    """Draw the held-out pairs with the outputs of the models. `views` are the run views, by name of their variant."""
    loaded, task = loaded_views(views, state.variants), state.task_config
    assert isinstance(task, PairsConfig)
    requests = {
        name: (
            ("translation-pairs", *view.cache_key, view.config, task, state.text),
            partial(compute_outputs, view, task),
        )
        for name, view in loaded.items()
    }
    result_section(
        "translation-pairs",
        requests,
        partial(_draw, state.variants),
        "The models rewrite the held-out sources …",
        120 + 38 * _SHOWN,
    )


def compute_outputs(view: RunView, task: PairsConfig) -> Outputs:
    """Let every seed rewrite the held-out sources. Raises DamagedRun, or NeedsText if the file is not there."""
    from explorer.inspection.seq2seq.decoding import greedy_outputs, require_translator
    from explorer.tasks.seq2seq.own_pairs import pair_table

    pairs = pair_table(task).held_out[:MAX_PAIRS]
    return Outputs(pairs, greedy_outputs(require_translator(load_view_model(view).stack), task, pairs))


def _draw(variants: Mapping[str, ModelVariant], document: Document, results: Mapping[str, Outputs]) -> None:
    pairs = next(iter(results.values())).pairs
    rows = []
    for i, (source, target) in enumerate(pairs):
        cells: dict[str, object] = {"source": source, "target": target}
        wrong_share = 0.0
        for name, each in results.items():
            texts = each.texts[i]
            right = sum(text == target for text in texts)
            wrong_share += 1 - right / len(texts)
            cells[name] = _describe(texts, target, right)
        rows.append((-wrong_share, cells))
    rows.sort(key=lambda each: each[0])
    wrong = sum(order < 0 for order, _ in rows)
    columns = [
        column("source", "held-out source", wrap=True),
        column("target", "target", wrap=True),
        *(column(name, variants[name].title, wrap=True, minor=i > 0) for i, name in enumerate(results)),
    ]
    if not wrong:
        document.text(f"All seeds of all models get all {len(pairs):,} held-out pairs right.")
        return
    more = f" The first {_SHOWN} of {wrong:,}." if wrong > _SHOWN else ""
    add_table(
        document,
        columns,
        [row for order, row in rows[:_SHOWN] if order < 0],
        key="translation-pairs",
        label="Held-out pairs that a model gets wrong",
        caption=f"At least one seed gets {wrong:,} of {len(pairs):,} held-out pairs wrong; those that most seeds get "
        f"wrong come first. For each model: the seeds that are right, and the most frequent wrong answer.{more}",
    )


def _describe(texts: tuple[str | None, ...], target: str, right: int) -> str:
    """Return how many seeds are right, and the most frequent wrong answer."""
    share = f"{right} of {len(texts)}"
    wrong = Counter(text for text in texts if text != target)
    if not wrong:
        return share
    text = wrong.most_common(1)[0][0]
    return f"{share}: {'no end' if text is None else f'“{text}”'}"
