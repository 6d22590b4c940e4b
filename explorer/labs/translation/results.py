"""Results of a task: exact match by step and by length, a table, the errors on pairs, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import SOLVED
from explorer.inspection.compare import median_and_range
from explorer.inspection.seq2seq import decoding
from explorer.labs.translation import findings
from explorer.labs.translation.alignment_findings import ADDITIVE_FORMULA, VECTOR_FORMULA
from explorer.labs.translation.findings import TranslationResult
from explorer.labs.translation.state import TranslationState
from explorer.number_format import format_duration
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.ui.training.learning_chart import conditions_sentence
from explorer.ui.wording import count_seeds, join_words

_METRICS = [ui.Metric("exact", "Exact match on new sources")]
_NUMBERS = {"parameters": "parameters", "steps": "steps", "seconds": "training time"}


def translation_results(state: TranslationState, views: Mapping[str, ui.RunView]) -> dict[str, TranslationResult]:
    """Return the results of the runs that are finished."""
    return {
        name: result
        for name, view in views.items()
        if ui.is_finished(view)
        and view.result
        and (result := findings.translation_result(state.variants[name], state.task_config, view.result))
    }


def exact_match_view(document: ui.Document, state: TranslationState, results: Mapping[str, TranslationResult]) -> None:
    """Write the exact match by length, or by date format."""
    complete = [each for each in results.values() if each.is_complete]
    if not complete:
        return
    median = f"Median of {count_seeds(state.seeds)}"
    what = "Exact match: share of {} without a single wrong token (greedy decoding)."
    if state.task == "dates":
        panel = ui.Panel("dates-ways", formats_chart(complete))
        document.figures("translation-exact", [panel], height=40 + 26 * len(DATE_FORMATS), columns=1)
        document.caption(f"{what.format('25 new dates in each format')} {median}.")
        return
    panel = ui.Panel(f"{state.task}-lengths", lengths_chart(complete, state.longest), rest=float(state.longest))
    document.figures("translation-exact", [panel], height=320, narrow_height=300, columns=1)
    document.caption(
        f"{what.format('100 new sources of each length')} Headline: at least {100 * SOLVED:.0f} % in every seed at "
        f"this length and all below. {median}; band: lowest to highest."
    )


def formats_chart(results: Sequence[TranslationResult]) -> charts.HeatMap:
    """Return the exact match by date format and model."""
    shares = np.stack([np.median(each.parts, axis=0) for each in results], axis=-1)
    return charts.HeatMap(
        "Exact match by date format and model",
        "exact match",
        tuple(DATE_FORMATS),
        [each.variant.label for each in results],
        shares,
        [[f"{share:.2f}" for share in row] for row in shares],
        most_labels=len(DATE_FORMATS),
    )


def lengths_chart(results: Sequence[TranslationResult], trained: int) -> charts.LineChart:
    """Return the exact match by source length."""
    lengths = np.array([int(name) for name in results[0].names])
    lines = [ui.variant_line(each.variant, lengths, median_and_range(each.parts.T)) for each in results]
    ends = [f"{each.variant.words} {float(np.median(each.exact_at(trained))):.2f} at {trained}" for each in results]
    return charts.LineChart(
        "Exact match by the length of the source",
        lines,
        charts.Axis("source length", (0, int(lengths[-1]))),
        charts.Axis(span=(-0.16, 1.04), ticks={0: "0", 0.5: "0.5", 1: "1"}),  # the words of the limit are below 0
        [
            charts.limit(trained + 0.5, "trained", left=True, bottom=True),
            charts.limit(trained + 0.5, "beyond", bottom=True),
        ],
        words=f"Exact match by the length of the source: {join_words(ends)}.",
    )


def table_view(
    document: ui.Document,
    state: TranslationState,
    results: Mapping[str, TranslationResult],
    views: Mapping[str, ui.RunView],
) -> None:
    """Write all numbers, a row for each variant."""
    n = state.longest
    lengths = [k for k in dict.fromkeys((5, 8, 11, 14, n, n + 2, n + 5)) if k] if state.has_lengths else []
    columns = {
        "name": charts.Column("model", "model", wrap=True),
        "exact": charts.Column("exact match", "strip", range=(0.0, 1.0)),
    }
    for key, label in ({str(k): f"at {k}" for k in lengths} | _NUMBERS).items():
        columns[key] = charts.Column(label, "number", minor=True)
    rows: list[charts.Row] = []
    for name, each in results.items():
        view = views[name]
        known = each.names if each.is_complete else ()
        at_lengths = {str(k): f"{float(np.median(each.exact_at(k))):.2f}" if str(k) in known else "–" for k in lengths}
        rows.append(
            {
                "name": charts.Cell(each.variant.title, each.variant.colour),
                "exact": charts.strip(f"{float(np.median(each.exact)):.3f}", each.exact),
                "parameters": f"{view.parameters:,}" if view.parameters else "–",
                "steps": f"{view.curves.step:,}" if view.curves else "–",
                "seconds": format_duration(view.seconds or 0.0),
                **at_lengths,
            }
        )
    what = {"dates": "trained formats", "pairs": "held-out pairs"}.get(state.task, "trained lengths")
    caption = (
        f"Exact match over all {what}, median; a dot for each seed. "
        f"{'At single lengths: median of the seeds. ' if lengths else ''}Training time: all seeds together."
    )
    document.table("translation-results", charts.Table(columns, rows, "Results, a row a model", caption))


def learning_chart(state: TranslationState, request: ui.TrainRequest) -> None:
    """Draw the exact match by step."""
    what = {"dates": "a few new dates in every format", "pairs": "held-out pairs"}.get(
        state.task, "a few new sources of every trained length"
    )
    ui.draw_learning_chart(
        "translation-race",
        request,
        state.configs,
        ui.curve_panels(_METRICS, state.variants),
        f"Exact match on {what}, every 50 steps. Line: median over seeds; band: lowest to highest.",
        run=f"translation-{state.task}",
        height=280,
        narrow_height=240,
        columns=1,
    )


MAX_PAIRS, _SHOWN = 200, 10  # held-out pairs whose sources the models translate, and rows of the table


def errors_section(state: TranslationState, views: Mapping[str, ui.RunView]) -> None:
    """Draw the held-out pairs with the outputs of the models."""
    task = state.task_config
    assert isinstance(task, PairsConfig)
    runs = ui.loaded_runs(views)
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


def section(state: TranslationState, results: Mapping[str, TranslationResult], views: Mapping[str, ui.RunView]) -> None:
    """Draw the results of the finished runs, and the formulas."""
    if state.task != "pairs":  # for pairs, the table is drawn above, in place of a chart by length
        ui.draw_now(table_view, state, results, views)
    width = getattr(state.configs["vector"].model, "hidden", 0) if "vector" in results else 0
    for sentence in (
        findings.exact_match_comparison(results),
        *findings.other_findings(results),
        conditions_sentence(views.values()),
        findings.capacity_finding(state.task_config, results.get("vector"), width),
    ):
        ui.paragraph(sentence)
    ui.explanation("With one vector, the decoder knows the source only through the last state of the encoder:")
    st.latex(VECTOR_FORMULA)
    ui.explanation(
        "With attention, it receives at every step a sum of all encoder states, weighted by how well they fit:"
    )
    st.latex(ADDITIVE_FORMULA)
