"""Results on recall: accuracy by training step and by length, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import SOLVED
from explorer.figures.comparison import Line, variant_line
from explorer.figures.recurrent.recall import accuracy_by_length, accuracy_by_step
from explorer.inspection.compare import median_and_range
from explorer.labs.memory import findings
from explorer.labs.memory.findings import RecallResult
from explorer.labs.memory.state import MemoryState
from explorer.number_format import format_count, format_duration, join_range
from explorer.tasks.recall import MAX_EVALUATED_LENGTH, RecallConfig, evaluation_lengths, orderless_accuracy
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, draw_plot_frame, value_tracks
from explorer.ui.components.table import column, draw_table, strip_cell
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, is_finished
from explorer.ui.training.variant_charts import VariantCurves, metric_lines
from explorer.ui.wording import count_seeds, join_words

HEIGHT, NARROW = 220, 190


def recall_results(variants: Mapping[str, ModelVariant], views: Mapping[str, RunView]) -> dict[str, RecallResult]:
    """Return the results of the runs that are finished."""
    results = {}
    for name, view in views.items():
        if (
            is_finished(view)
            and view.result is not None
            and (result := _recall_result(variants[name], view.config, view.result))
        ):
            results[name] = result
    return results


@cached()
def _recall_result(variant: ModelVariant, config: RunConfig, curves: Curves) -> RecallResult | None:
    return findings.recall_result(variant, config, curves)


def group_by_architecture(variants: Mapping[str, ModelVariant]) -> dict[str, list[str]]:
    """Return the names of the variants by architecture."""
    groups: dict[str, list[str]] = {}
    for name, each in variants.items():
        groups.setdefault(each.model, []).append(name)
    return groups


# ---- at other lengths


def length_chart(state: MemoryState, variants: Mapping[str, ModelVariant], results: Mapping[str, RecallResult]) -> None:
    """Draw the accuracy by length, a panel for each architecture."""
    task = state.task
    panels = []
    for model, names in group_by_architecture(variants).items():
        lines = [_length_line(results[name]) for name in names if name in results]
        lengths = evaluation_lengths(task.length)
        limit = _orderless_line(task, [variants[name] for name in names], lengths, lengths)
        panels.append(
            Panel(
                f"lengths-{model}",
                accuracy_by_length(
                    [*lines, *limit], task.length, max(evaluation_lengths(task.length)), 1 / task.symbols
                ),
                alt=_alt_text(MODELS[model].title, [results[name] for name in names if name in results]),
                title=MODELS[model].title,
                colour=MODELS[model].colour,
                tracks=_value_tracks([*(variants[name] for name in names if name in results), *limit]),
                rest=float(task.length),
            )
        )
    draw_plot_frame(panels, key="memory-lengths", height=HEIGHT, narrow_height=NARROW, columns=4)
    st.caption(
        "Share of 256 new sequences whose first symbol is named, by their length. Vertical line: the trained length; "
        f"networks were trained at no other. {_line_caption(state)} Dashed: guessing."
        f"{_orderless_caption(task, variants.values())} {_open_gates_caption(variants.values())}".strip()
    )


def _open_gates_caption(variants: Iterable[ModelVariant]) -> str:
    if not any(each.settings.get("start") == "chrono" for each in variants):
        return ""
    return "Open gates: gate biases are initialized so that a unit keeps nearly everything (chrono initialization)."


def _line_caption(state: MemoryState) -> str:
    return (
        f"Line: median of {count_seeds(state.seeds)}; band: lowest to highest."
        if state.seeds > 1
        else "Line: one seed."
    )


def _length_line(each: RecallResult) -> Line:
    values = median_and_range(each.by_length.T)
    return variant_line(each.variant, np.array(each.lengths, float), *values.T, statistic="median")


def _orderless_line(
    task: RecallConfig, variants: Iterable[ModelVariant], x: Sequence[float], lengths: Sequence[int]
) -> list[Line]:
    """Return the best accuracy without knowledge of the order where a variant has no positions, else nothing.

    x: the points of the line; lengths: the length of the sequences at each point
    """
    if not _has_orderless_limit(task, variants):
        return []
    best = np.array([orderless_accuracy(length) for length in lengths])
    return [Line("no order", "best without positions", "--soft", "2px,4px", np.array(x, float), best, best, best)]


def _has_orderless_limit(task: RecallConfig, variants: Iterable[ModelVariant]) -> bool:
    return task.symbols == 2 and any(each.settings.get("positions") == "none" for each in variants)


def _orderless_caption(task: RecallConfig, variants: Iterable[ModelVariant]) -> str:
    if not _has_orderless_limit(task, variants):
        return ""
    best = orderless_accuracy(task.length)
    return (
        f" Dotted: naming the more frequent symbol, which needs no positions ({100 * best:.0f} % right at length "
        f"{task.length:,})."
    )


def _value_tracks(variants: Iterable[ModelVariant | Line]) -> list[dict[str, object]]:
    return value_tracks([(each.label, each.colour) for each in variants])


def _alt_text(title: str, results: list[RecallResult]) -> str:
    """Return the panel in words."""
    parts = []
    for each in results:
        far = min(MAX_EVALUATED_LENGTH, max(each.lengths))
        here, there = (
            float(np.median(each.accuracy_at(length))) for length in (each.config.task_as(RecallConfig).length, far)
        )
        parts.append(f"{each.variant.words} {here:.2f} at the trained length and {there:.2f} at {far:,}")
    return f"{title}, accuracy by sequence length: {'; '.join(parts) or 'no run yet'}."


def results_table(
    state: MemoryState,
    variants: Mapping[str, ModelVariant],
    results: Mapping[str, RecallResult],
    views: Mapping[str, RunView],
) -> None:
    """Draw all numbers, a row for each variant."""
    length = state.length
    lengths = evaluation_lengths(length)
    compared = dict.fromkeys((length - 1, length + 1, 2 * length, MAX_EVALUATED_LENGTH))
    others = [n for n in compared if n in lengths and n != length]
    chance = 1 / state.symbols
    length_labels = {str(n): f"at {n:,}" for n in others}
    numbers = {**length_labels, "first": "steps until solved", "steps": "training steps", "seconds": "training time"}
    columns = [
        column("name", "model", "model", wrap=True),
        column("solved", f"solved at {length:,}", "strip", range=[0.0, 1.0]),
    ]
    columns += [column(key, label, "number", minor=True) for key, label in numbers.items()]
    rows = []
    for name, each in results.items():
        cells: dict[str, object] = {
            "name": {"text": variants[name].title, "colour": variants[name].colour},
            "solved": strip_cell(
                f"{each.solved} of {len(each.accuracy)} seed{'s' if len(each.accuracy) > 1 else ''}", each.accuracy
            ),
            "steps": f"{each.config.steps:,}",
            "first": _format_steps(each),
            "seconds": format_duration(views[name].seconds or 0.0),
        }
        cells |= {str(n): _format_median(each.accuracy_at(n)) for n in others}
        rows.append(cells)
    if rows:
        draw_table(
            columns,
            rows,
            key="memory-results",
            label="Results on recall, a row a model",
            caption=f"A dot for each seed; solved: right on at least {100 * SOLVED:.0f} % of 256 new sequences. At "
            f"other lengths: {'median accuracy; ' * (state.seeds > 1)}guessing is right on {chance:.2f}. Training "
            "time: all seeds.",
        )


def _format_steps(each: RecallResult) -> str:
    steps = each.solved_at[each.solved_at >= 0]
    if not len(steps):
        return "–"
    low, high = int(steps.min()), int(steps.max())
    return join_range(format_count(low), format_count(high))


def _format_median(values: Float[ndarray, " replicas"]) -> str:
    return "–" if np.isnan(values).all() else f"{float(np.nanmedian(values)):.2f}"


# ---- during training


def learning_chart(state: MemoryState, variants: Mapping[str, ModelVariant], request: TrainRequest) -> None:
    """Draw the accuracy by step, a panel for each architecture."""
    draw_learning_chart(
        "memory-race",
        request,
        state.configs,
        partial(_learning_panels, state, variants),
        f"Accuracy on 256 new sequences of length {state.length:,}, every 20 steps. {_line_caption(state)} The figure "
        "above is evaluated on 256 others.",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=4,
    )


def _learning_panels(
    state: MemoryState, variants: Mapping[str, ModelVariant], views: Mapping[str, RunView]
) -> list[Panel]:
    last = last_step(views)
    return [
        _learning_panel(model, tuple((variants[n], views[n].curves) for n in names), last, state.task)
        for model, names in group_by_architecture({name: variants[name] for name in views}).items()
    ]


@cached()
def _learning_panel(model: str, variants: VariantCurves, last: int, task: RecallConfig) -> Panel:
    """Return one panel; it is cached for all visitors of the same runs."""
    row = MODELS[model]
    lines = metric_lines(variants, "accuracy", "median")
    words = join_words([variant.words for variant, _ in variants])
    limit = _orderless_line(task, [variant for variant, _ in variants], (0, last), (task.length,) * 2)
    return Panel(
        f"learning-{model}",
        accuracy_by_step([*lines, *limit], last, 1 / task.symbols),
        alt=f"{row.title}: accuracy on new sequences by step, {words}.",
        title=row.title,
        colour=row.colour,
        tracks=_value_tracks([*(variant for variant, _ in variants), *limit]),
    )
