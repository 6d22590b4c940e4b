"""Recall: the models and their settings, accuracy by training step and by length, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.compared_groups import RATES
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import LEARNING_RATES, SOLVED, SWEEP_LENGTHS, VARIANTS
from explorer.inspection.compare import median_and_range
from explorer.labs.memory import findings
from explorer.labs.memory.findings import RecallResult
from explorer.labs.memory.gate_viewer import read_symbols
from explorer.labs.memory.state import MAX_SEQUENCE_LENGTH, MemoryState
from explorer.model.run_model import RunModel
from explorer.number_format import format_count, format_duration, join_range
from explorer.tasks.recall import MAX_EVALUATED_LENGTH, RecallConfig, evaluation_lengths, orderless_accuracy
from explorer.ui.wording import describe_line

HEIGHT, NARROW = 220, 190
_LENGTHS = (1, 10, 100, 1_000)  # on the axis


def accuracy_chart(
    subject: str, lines: Sequence[charts.Line], x: charts.Axis, chance: float, marks: Sequence[charts.Rule] = ()
) -> charts.LineChart:
    """Return accuracies on the range 0 to 1, the same for all architectures, with a line at chance accuracy."""
    y = charts.Axis(span=(0.0, 1.04), ticks={0: "0", chance: f"{chance:.2g}", 1: "1"})
    return charts.LineChart(subject, lines, x, y, [charts.level(chance), *marks], margin=88)


def step_axis(last: int) -> charts.Axis:
    """Return the axis of a training of so many steps."""
    return charts.Axis("step", (0.0, float(last)), ticks=4, upright=True)


def recall_results(variants: Mapping[str, ModelVariant], views: Mapping[str, ui.RunView]) -> dict[str, RecallResult]:
    """Return the results of the runs that are finished."""
    return {
        name: result
        for name, view in views.items()
        if ui.is_finished(view)
        and view.result
        and (result := findings.recall_result(variants[name], view.config, view.result))
    }


def group_by_architecture(variants: Mapping[str, ModelVariant]) -> dict[str, list[str]]:
    """Return the names of the variants by architecture."""
    groups: dict[str, list[str]] = {}
    for name, each in variants.items():
        groups.setdefault(each.model, []).append(name)
    return groups


# ---- a row that the visitor types


EXAMPLE = "babbaabaab"


def typed_section(session: ui.PageSession[MemoryState], views: Mapping[str, ui.RunView]) -> None:
    """Draw which models name the first symbol of the typed row."""
    state = session.state
    text = read_symbols(state.say, state.symbols).text or EXAMPLE
    calls = {name: ui.Call(share_of_seeds, run, text) for name, run in ui.loaded_runs(views).items()}
    if calls:
        waiting = "The models read the row …"
        ui.show_each("memory-typed", calls, typed_view, state.variants, text, waiting=waiting, height=60, partly=True)


def share_of_seeds(run: ui.Run, text: str) -> float:
    """Return the share of the seeds that name the first symbol of a row after they have read it."""
    from explorer.model.predictions import Distribution, predict

    found = predict(RunModel(run), text)
    assert isinstance(found, Distribution)
    return float((found.probabilities.argmax(axis=-1) == found.outcomes.index(text[0])).mean())


def typed_view(
    document: ui.Document, shares: Mapping[str, float], variants: Mapping[str, ModelVariant], text: str
) -> None:
    """Write which models name the first symbol with every seed."""
    document.text(findings.typed_sentence(text, [variants[name] for name, share in shares.items() if share == 1]))


# ---- at other lengths


def lengths_view(
    document: ui.Document, state: MemoryState, variants: Mapping[str, ModelVariant], results: Mapping[str, RecallResult]
) -> None:
    """Write the finding, and the accuracy by length, a panel for each architecture."""
    task, lengths = state.task, evaluation_lengths(state.task.length)
    document.finding(findings.solved_finding(results, state.length))
    longest = max(lengths)
    x = charts.Axis(
        "length",
        (10**-0.05, longest * 10**0.02),
        log=True,
        ticks={length: f"{length:,}" for length in _LENGTHS if length <= longest},
        upright=True,
    )
    panels = []
    for model, names in group_by_architecture(variants).items():
        row, finished = MODELS[model], [results[name] for name in names if name in results]
        lines = [
            ui.variant_line(each.variant, np.array(each.lengths), median_and_range(each.by_length.T))
            for each in finished
        ]
        lines += _orderless_line(task, [variants[name] for name in names], lengths, lengths)
        subject, trained = f"{row.title}, accuracy by sequence length", charts.limit(task.length)
        chart = accuracy_chart(subject, lines, x, 1 / task.symbols, [trained])
        rest = float(task.length)
        panels.append(ui.Panel(f"lengths-{model}", chart, title=row.title, colour=row.colour, rest=rest))
    document.figures("memory-lengths", panels, height=HEIGHT, narrow_height=NARROW, columns=4)
    document.caption(
        "Share of 256 sequences whose first symbol is named, by their length. Vertical line: the trained length; "
        f"networks were trained at no other. {describe_line(state.seeds)} Dashed: guessing."
        f"{_orderless_caption(task, variants.values())} {_open_gates_caption(variants.values())}".strip()
    )


def _open_gates_caption(variants: Iterable[ModelVariant]) -> str:
    if not any(each.settings.get("start") == "chrono" for each in variants):
        return ""
    return "Open gates: gate biases are initialized so that a unit keeps nearly everything (chrono initialization)."


def _orderless_line(
    task: RecallConfig, variants: Iterable[ModelVariant], x: Sequence[float], lengths: Sequence[int]
) -> list[charts.Line]:
    """Return the best accuracy without knowledge of the order where a variant has no positions, else nothing.

    x: the points of the line; lengths: the length of the sequences at each point
    """
    if not _has_orderless_limit(task, variants):
        return []
    best = np.array([orderless_accuracy(length) for length in lengths])
    return [charts.Line("no order", "best without positions", "--soft", "2px,4px", np.array(x), best)]


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


def results_view(
    document: ui.Document, state: MemoryState, results: Mapping[str, RecallResult], views: Mapping[str, ui.RunView]
) -> None:
    """Write all numbers in a table, a row for each variant, and what differs between the models."""
    length = state.length
    lengths = evaluation_lengths(length)
    compared = dict.fromkeys((length - 1, length + 1, 2 * length, MAX_EVALUATED_LENGTH))
    others = [n for n in compared if n in lengths and n != length]
    length_labels = {str(n): f"at {n:,}" for n in others}
    numbers = {**length_labels, "first": "steps until solved", "steps": "training steps", "seconds": "training time"}
    columns = {
        "name": charts.Column("model", "model", wrap=True),
        "solved": charts.Column(f"solved at {length:,}", "strip", range=(0.0, 1.0)),
        **{key: charts.Column(label, "number", minor=True) for key, label in numbers.items()},
    }
    rows: list[charts.Row] = []
    for name, each in results.items():
        seeds = f"seed{'s' if len(each.accuracy) > 1 else ''}"
        rows.append(
            {
                "name": charts.Cell(each.variant.title, each.variant.colour),
                "solved": charts.strip(f"{each.solved} of {len(each.accuracy)} {seeds}", each.accuracy),
                "steps": f"{each.config.steps:,}",
                "first": _format_steps(each),
                "seconds": format_duration(views[name].seconds or 0.0),
                **{str(n): _format_median(each.accuracy_at(n)) for n in others},
            }
        )
    caption = (
        f"A dot for each seed; solved: right on at least {100 * SOLVED:.0f} % of 256 sequences. At other lengths: "
        f"{'median accuracy; ' * (state.seeds > 1)}guessing is right on {1 / state.symbols:.2f}. Training time: all "
        "seeds."
    )
    document.table("memory-results", charts.Table(columns, rows, "Results on recall, a row a model", caption))
    document.text(findings.solved_comparison_finding(results))
    document.text(findings.budget_caption(results) if results else "")
    for sentence in findings.other_length_findings(results, length):
        document.text(sentence)


def _format_steps(each: RecallResult) -> str:
    steps = each.solved_at[each.solved_at >= 0]
    if not len(steps):
        return "–"
    low, high = int(steps.min()), int(steps.max())
    return join_range(format_count(low), format_count(high))


def _format_median(values: Float[ndarray, " replicas"]) -> str:
    return "–" if np.isnan(values).all() else f"{float(np.nanmedian(values)):.2f}"


# ---- during training


def learning_chart(state: MemoryState, request: ui.TrainRequest) -> None:
    """Draw the accuracy by step, a panel for each architecture."""
    ui.draw_learning_chart(
        "memory-race",
        request,
        state.configs,
        partial(_learning_panels, state),
        f"Accuracy on 256 sequences of length {state.length:,}, every 20 steps. {describe_line(state.seeds)} The "
        "figure above is evaluated on 256 others.",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=4,
    )


def _learning_panels(state: MemoryState, views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    last = ui.last_step(views)
    return [
        _learning_panel(model, tuple((state.variants[n], views[n].curves) for n in names), last, state.task)
        for model, names in group_by_architecture({name: state.variants[name] for name in views}).items()
    ]


@cached()
def _learning_panel(model: str, runs: ui.VariantCurves, last: int, task: RecallConfig) -> ui.Panel:
    """Return one panel; it is cached for all visitors of the same runs."""
    row, lines = MODELS[model], ui.metric_lines(runs, "accuracy")
    lines += _orderless_line(task, [variant for variant, _ in runs], (0, last), (task.length,) * 2)
    subject = f"{row.title}, accuracy on new sequences by step"
    chart = accuracy_chart(subject, lines, step_axis(last), 1 / task.symbols)
    return ui.Panel(f"learning-{model}", chart, title=row.title, colour=row.colour)


def input_row(session: ui.PageSession[MemoryState]) -> None:
    """Draw the box for a row, the choice of a length whose runs are included, and the popover with everything else."""
    letters = f"a to {chr(ord('a') + session.state.symbols - 1)}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
            session,
            "say",
            st.text_input,
            key="memory.typed",
            update=lambda state, new: replace(state, say=new.strip()),
            label=f"A row of the letters {letters}",
            longest=MAX_SEQUENCE_LENGTH,
            placeholder=EXAMPLE,
            width=330,
        )
        ui.bind_widget(
            session,
            "length_pick",
            st.segmented_control,
            shown=session.state.length if session.state.length in SWEEP_LENGTHS else None,
            update=lambda state, length: replace(state, length=length),
            label="Length in training",
            options={length: f"{length:,}" for length in SWEEP_LENGTHS},
        )
        with st.popover("Models and settings", icon=":material/tune:"):
            _draw_models(session)
            _draw_settings(session)


def _draw_models(session: ui.PageSession[MemoryState]) -> None:
    for model, names in group_by_architecture(VARIANTS).items():
        selected = [name for name in names if name in session.state.who]
        others = tuple(name for name in VARIANTS if name not in names)

        def make(state: MemoryState, selected: list[str], others: tuple[str, ...] = others) -> MemoryState:
            return state.with_models({*selected, *(name for name in state.who if name in others)})

        ui.bind_widget(
            session,
            f"who-{model}",
            st.pills,
            shown=selected,
            update=make,
            label=f"{MODELS[model].title}: {'positions' if model == 'transformer' else 'initialization'}",
            options={name: VARIANTS[name].label for name in names},
            selection_mode="multi",
        )


def _draw_settings(session: ui.PageSession[MemoryState]) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "length", st.number_input, label="Any other length (needs training)", width=230)
        ui.bind_widget(session, "symbols", st.number_input, width=210)
        rates = sorted({0.0, *LEARNING_RATES, *RATES, state.rate})
        ui.bind_widget(
            session, "rate", st.selectbox, options={r: f"{r:g}" if r else "default" for r in rates}, width=150
        )
        ui.bind_widget(session, "steps", st.number_input, width=210)
        ui.bind_widget(session, "seeds", st.number_input, width=110)
        ui.bind_widget(session, "seed", st.number_input, width=120)
    ui.reset_button(session)
