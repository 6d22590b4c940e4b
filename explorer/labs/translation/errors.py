"""The held-out pairs with the outputs of each model; those that most seeds get wrong come first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from explorer import charts, ui
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.seq2seq import decoding
from explorer.labs.translation.model_picker import loaded_runs
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.pairs import PairsConfig

MAX_PAIRS, _SHOWN = 200, 10  # held-out pairs whose sources the models translate, and rows of the table


def section(state: TranslationState, views: Mapping[str, ui.RunView]) -> None:
    """Draw the held-out pairs with the outputs of the models. `views` are the run views, by name of their variant."""
    task = state.task_config
    assert isinstance(task, PairsConfig)
    runs = loaded_runs(views, state.variants)
    calls = {name: ui.Call(decoding.translate_held_out, run, task, MAX_PAIRS) for name, run in runs.items()}
    waiting = "The models rewrite the held-out sources …"
    ui.show_each("translation-pairs", calls, pairs_view, state.variants, waiting=waiting, height=120 + 38 * _SHOWN)


def pairs_view(
    document: ui.Document, results: Mapping[str, decoding.Outputs], variants: Mapping[str, ModelVariant]
) -> None:
    """Write the pairs that a seed gets wrong, with the outputs of every model."""
    pairs = next(iter(results.values())).pairs
    rows: list[tuple[float, charts.Row]] = []
    for i, (source, target) in enumerate(pairs):
        texts = {name: each.texts[i] for name, each in results.items()}
        wrong_share = sum(sum(text != target for text in each) / len(each) for each in texts.values())
        outputs = {name: _describe(each, target) for name, each in texts.items()}
        if wrong_share:
            rows.append((wrong_share, {"source": source, "target": target, **outputs}))
    if not rows:
        document.text(f"All seeds of all models get all {len(pairs):,} held-out pairs right.")
        return
    rows.sort(key=lambda each: -each[0])
    columns = {
        "source": charts.Column("held-out source", wrap=True),
        "target": charts.Column("target", wrap=True),
        **{name: charts.Column(variants[name].title, wrap=True, minor=i > 0) for i, name in enumerate(results)},
    }
    more = f" The first {_SHOWN} of {len(rows):,}." if len(rows) > _SHOWN else ""
    caption = (
        f"At least one seed gets {len(rows):,} of {len(pairs):,} held-out pairs wrong; those that most seeds get "
        f"wrong come first. For each model: the seeds that are right, and the most frequent wrong answer.{more}"
    )
    shown = [row for _, row in rows[:_SHOWN]]
    document.table("translation-pairs", charts.Table(columns, shown, "Held-out pairs that a model gets wrong", caption))


def _describe(texts: tuple[str | None, ...], target: str) -> str:
    """Return how many seeds are right, and the most frequent wrong answer."""
    wrong = Counter(text for text in texts if text != target)
    share = f"{len(texts) - wrong.total()} of {len(texts)}"
    if not wrong:
        return share
    text = wrong.most_common(1)[0][0]
    return f"{share}: {'no end' if text is None else f'“{text}”'}"
