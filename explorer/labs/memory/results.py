"""All results on recall: a table, statistical comparisons, and sweeps over lengths and learning rates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.experiments.recall import (
    LEARNING_RATE_VARIANTS,
    SWEEP_LENGTHS,
    VARIANTS,
    learning_rate_sweep,
    length_sweep,
)
from explorer.labs.memory import findings, recall
from explorer.labs.memory.findings import RecallResult
from explorer.labs.memory.recall import recall_results
from explorer.labs.memory.state import MemoryState, Sweep
from explorer.training.config import RunConfig
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.learning_chart import describe_state, live_training_section, seconds_to_next
from explorer.ui.wording import count_seeds

_ROW = 34  # px


def sweep_section(session: ui.PageSession[MemoryState]) -> None:
    """Draw the sweep: a tile for each run; the missing ones can be trained here."""
    state, request = session.state, ui.TrainRequest.for_section("sweep")
    ui.bind_widget(session, "sweep", st.segmented_control, label_visibility="collapsed")
    try:
        configs = _cell_configs(state)
    except LineageError as error:
        ui.show_problems([str(error)])
        return
    names = {_cell_name(cell): config for cell, config in configs.items()}
    views = request.views(names)
    results = recall_results({_cell_name(cell): VARIANTS[cell[0]] for cell in configs}, views)
    cells = {cell: results[_cell_name(cell)] for cell in configs if _cell_name(cell) in results}
    for sentence in filter(None, _sweep_findings(state.sweep, cells)):
        ui.explanation(f"**{ui.escape_markdown(sentence)}**")
    ui.show_problems(request.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        ui.draw_train_controls(request, {name: names[name] for name in _missing_names(views)})
        _show_progress(names, views, request)
    ui.draw_now(sweep_view, state, list(dict.fromkeys(cell[:-1] for cell in configs)), cells)


Cell = tuple[str, float, int]  # variant, learning rate (0: its default), length


def _cell_configs(state: MemoryState) -> dict[Cell, RunConfig]:
    """Return the configuration of every tile. Raises InvalidSetting."""
    shared = {name: value for name, value in state.shared_settings.items() if name not in ("length", "learning_rate")}
    if state.sweep == "rates":
        return learning_rate_sweep(LEARNING_RATE_VARIANTS, **shared)
    rate = {"learning_rate": state.rate} if state.rate else {}
    return {(name, state.rate, n): each for (name, n), each in length_sweep(state.who, **shared, **rate).items()}


def _cell_name(cell: Cell) -> str:
    return "/".join(map(str, cell))


def _missing_names(views: Mapping[str, ui.RunView]) -> list[str]:
    """Return the tiles without a run; all of them if none is missing."""
    return [name for name, view in views.items() if not view.stored] or list(views)


def _show_progress(configs: Mapping[str, RunConfig], views: Mapping[str, ui.RunView], request: ui.TrainRequest) -> None:
    """Show the progress of the sweep while it trains; else how many trainings it needs."""
    if not any(view.live for view in views.values()):
        ui.caption(f"{len(_missing_names(views))} trainings.")
        return
    visitor_id, before = current_visitor().id, _count_done(views)

    def draw(document: ui.Document) -> float | None:
        now = request.views(configs, visitor_id)
        document.text(f"{describe_state(now)}; {sum(view.live for view in now.values())} trainings left")
        # At a new tile the page reruns.
        return seconds_to_next(now.values(), 1.0) if _count_done(now) == before else None

    live_training_section("sweep-progress", request, draw, 40)


def _count_done(views: Mapping[str, ui.RunView]) -> int:
    return sum(bool(view.job and view.job.done) for view in views.values())


def sweep_view(
    document: ui.Document, state: MemoryState, rows: list[tuple[str, float]], cells: Mapping[Cell, RecallResult]
) -> None:
    """Write how many seeds solve each length, a tile for each run; `rows`: variants and learning rates."""
    found = [[cells.get((*row, length)) for length in SWEEP_LENGTHS] for row in rows]
    tiles = charts.HeatMap(
        "Seeds that solve recall, by length",
        "share of seeds that solve it",
        [VARIANTS[name].full_label + f", {rate:g}" * (state.sweep == "rates") for name, rate in rows],
        [f"{length:,}" for length in SWEEP_LENGTHS],
        np.array([[each.solved / len(each.accuracy) if each else np.nan for each in row] for row in found]),
        [[str(each.solved) if each else "" for each in row] for row in found],
        columns_title="symbols in training and test",
    )
    panel = ui.Panel(f"sweep-{state.sweep}-{len(rows)}", tiles)
    document.figures("memory-sweep", [panel], height=70 + _ROW * len(rows), columns=1)
    document.caption(
        f"A tile is a training at that length: how many of {count_seeds(state.seeds)} solve the task. A result belongs "
        "to its length, initialization, learning rate and number of steps, not to an architecture."
    )


def _sweep_findings(sweep: Sweep, cells: Mapping[Cell, RecallResult]) -> list[str]:
    if sweep == "rates":
        return [
            findings.learning_rate_finding(
                {cell[1:]: each for cell, each in cells.items() if cell[0] == name},
                f"the {MODELS['rnn'].title} {VARIANTS[name].words}",
            )
            for name in LEARNING_RATE_VARIANTS
        ]
    by_variant: dict[str, dict[int, RecallResult]] = {}
    for (name, _, length), each in cells.items():
        by_variant.setdefault(name, {})[length] = each
    return [findings.sweep_finding(by_variant)]


def section(
    session: ui.PageSession[MemoryState], results: Mapping[str, RecallResult], views: Mapping[str, ui.RunView]
) -> None:
    """Draw the results of the finished runs, and the sweep."""
    state = session.state
    ui.draw_now(recall.results_view, state, results, views)
    st.subheader("Which lengths can each model learn?", anchor=False)
    sweep_section(session)
    st.subheader("How the learning rates were chosen", anchor=False)
    draw_learning_rates({state.variants[name].full_label: config for name, config in state.configs.items()})
