"""Results of a task: exact match by step and by length, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import Line, variant_line
from explorer.figures.seq2seq.translation import exact_match_by_format, exact_match_by_length, exact_match_by_step
from explorer.inspection.compare import median_and_range
from explorer.labs.translation import findings
from explorer.labs.translation.findings import TranslationResult
from explorer.labs.translation.state import TranslationState
from explorer.number_format import format_duration
from explorer.tasks.seq2seq.config import TranslationConfig
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, draw_plot_frame, value_tracks
from explorer.ui.components.table import column, draw_table, strip_cell
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, is_finished
from explorer.ui.training.variant_charts import VariantCurves, curves_of_variants, metric_lines
from explorer.ui.wording import count_seeds, join_words

_NUMBERS = {"parameters": "parameters", "steps": "steps", "seconds": "training time"}


def translation_results(state: TranslationState, views: Mapping[str, RunView]) -> dict[str, TranslationResult]:
    """Return the results of the runs that are finished."""
    results = {}
    for name, view in views.items():
        if (
            is_finished(view)
            and view.result
            and (result := _translation_result(state.variants[name], state.task_config, view.result))
        ):
            results[name] = result
    return results


@cached()
def _translation_result(variant: ModelVariant, task: TranslationConfig, curves: Curves) -> TranslationResult | None:
    return findings.translation_result(variant, task, curves)


def exact_match_chart(state: TranslationState, results: Mapping[str, TranslationResult]) -> None:
    """Draw the exact match by length, or by date format."""
    complete = [each for each in results.values() if each.is_complete]
    if not complete:
        return
    if state.task == "dates":
        shares = np.stack([np.median(each.parts, axis=0) for each in complete], axis=-1)
        panel = Panel(
            "dates-ways",
            exact_match_by_format(shares, tuple(DATE_FORMATS), [each.variant.label for each in complete]),
            alt=f"Exact match by date format, lowest {shares.min():.2f}, of {_model_names(complete)}.",
        )
        draw_plot_frame([panel], key="translation-exact", height=40 + 26 * len(DATE_FORMATS), columns=1)
        sources = "25 new dates in each format"
    else:
        lengths = [int(name) for name in complete[0].names]
        lines = [_line(each, np.array(lengths, float), median_and_range(each.parts.T)) for each in complete]
        parts = [
            f"{e.variant.words} {float(np.median(e.exact_at(state.longest))):.2f} at {state.longest}" for e in complete
        ]
        panel = Panel(
            f"{state.task}-lengths",
            exact_match_by_length(lines, state.longest, max(lengths)),
            alt=f"Exact match by the length of the source: {join_words(parts)}.",
            tracks=_value_tracks([each.variant for each in complete]),
            rest=float(state.longest),
        )
        draw_plot_frame([panel], key="translation-exact", height=360, narrow_height=300, columns=1)
        sources = "100 new sources of each length"
    solved = (
        ""
        if state.task == "dates"
        else f" Headline: at least {100 * findings.SOLVED:.0f} % at this length and all below."
    )
    st.caption(
        f"Exact match: share of {sources} without a single wrong token (greedy decoding).{solved} "
        f"Median of {count_seeds(state.seeds)}{'' if state.task == 'dates' else '; band: lowest to highest'}."
    )


def _model_names(complete: list[TranslationResult]) -> str:
    return join_words([each.variant.words for each in complete])


def _line(each: TranslationResult, x: Float[ndarray, " points"], values: Float[ndarray, "points 3"]) -> Line:
    return variant_line(each.variant, x, *values.T, statistic="median")


def _value_tracks(curves_by_variant: Iterable[ModelVariant]) -> list[dict[str, object]]:
    return value_tracks([(each.title, each.colour) for each in curves_by_variant])


def results_table(
    state: TranslationState, results: Mapping[str, TranslationResult], views: Mapping[str, RunView]
) -> None:
    """Draw all numbers, a row for each variant."""
    if not results:
        return
    n = state.longest
    lengths = [k for k in dict.fromkeys((5, 8, 11, 14, n, n + 2, n + 5)) if k] if state.has_lengths else []
    numbers = {**{str(k): f"at {k}" for k in lengths}, **_NUMBERS}
    columns = [
        column("name", "model", "model", wrap=True),
        column("exact", "exact match", "strip", range=[0.0, 1.0]),
    ]
    columns += [column(key, label, "number", minor=True) for key, label in numbers.items()]
    rows = []
    for name, each in results.items():
        view, median = views[name], float(np.median(each.exact))
        cells: dict[str, object] = {
            "name": {"text": each.variant.title, "colour": each.variant.colour},
            "exact": strip_cell(f"{median:.3f}", each.exact),
            "parameters": f"{view.parameters:,}" if view.parameters else "–",
            "steps": f"{view.curves.step:,}" if view.curves else "–",
            "seconds": format_duration(view.seconds or 0.0),
        }
        complete = set(each.names)
        cells |= {
            str(k): f"{float(np.median(each.exact_at(k))):.2f}" if each.is_complete and str(k) in complete else "–"
            for k in lengths
        }
        rows.append(cells)
    draw_table(
        columns,
        rows,
        key="translation-results",
        label="Results, a row a model",
        caption="Exact match over all "
        + {"dates": "trained formats", "pairs": "held-out pairs"}.get(state.task, "trained lengths")
        + ", median; a dot for each seed. "
        + ("At single lengths: median of the seeds. " if lengths else "")
        + "Training time: all seeds together.",
    )


# ---- during training


def learning_chart(state: TranslationState, request: TrainRequest) -> None:
    """Draw the exact match by step."""
    what = {"dates": "a few new dates in every format", "pairs": "held-out pairs"}.get(
        state.task, "a few new sources of every trained length"
    )
    draw_learning_chart(
        "translation-race",
        request,
        state.configs,
        partial(_learning_panels, state),
        f"Exact match on {what}, every 50 steps. Line: median over seeds; band: lowest to highest.",
        run=f"translation-{state.task}",
        height=280,
        narrow_height=240,
        columns=1,
    )


def _learning_panels(state: TranslationState, views: Mapping[str, RunView]) -> list[Panel]:
    return [_learning_panel(state.task, curves_of_variants(state.variants, views), last_step(views))]


@cached()
def _learning_panel(task: str, curves_by_variant: VariantCurves, last: int) -> Panel:
    """Return the panel; it is cached for all visitors of the same runs."""
    lines = metric_lines(curves_by_variant, "exact", "median")
    variants = [each for each, _ in curves_by_variant]
    return Panel(
        f"learning-{task}",
        exact_match_by_step(lines, last),
        alt=f"Exact match on new sources by step: {join_words([each.words for each in variants])}.",
        tracks=_value_tracks(variants),
    )
