"""A branch: training continues from a step of a stored run, with other settings."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.errors import LineageError
from explorer.jobs import limits
from explorer.jobs.cost import expected_seconds
from explorer.jobs.service import service
from explorer.labs.compare.comparison import ComparedRun
from explorer.labs.compare.state import Comparison
from explorer.number_format import format_duration
from explorer.run_store import store
from explorer.training.config import Optimiser, RunConfig, branch_from
from explorer.training.config import key as run_key
from explorer.ui.page_sections import caption, empty_panel, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.visitor import count_action, current_visitor
from explorer.ui.state.widgets import draw_choice
from explorer.web import rate_limits


def branch_section(session: PageSession[Comparison], runs: Sequence[ComparedRun]) -> None:
    """Draw the form that continues a run from one of its steps with other settings."""
    explanation(
        "A branch continues a run from one of its steps with another learning rate, schedule or order of batches. It "
        "starts exactly on the curve of that run; without a change it repeats the curve, bit for bit on the same kind "
        "of machine."
    )
    parents = {run.key: run for run in runs if run.view.stored}
    if not parents:
        empty_panel("A branch needs a finished run among those above.", 80)
        return
    with st.container(border=True):
        titles = {key: parent.title for key, parent in parents.items()}
        key = draw_choice(st.selectbox, "From", titles, key="branch.from")
        run = parents[key].view.stored
        if run is None:
            return
        steps = [step for step in run.checkpoint_steps() if step < run.config.steps]
        if not steps:
            duration = format_duration(max(expected_seconds(run.config), 0.1))
            st.markdown(
                "This run is stored without the state of its optimizer. To branch from it, train it again here (about "
                f"{duration})."
            )
            st.button("Train it again here", icon=":material/play_arrow:", on_click=_train_here, args=(session, run))
            return
        _branch_form(session, run, steps)


def _train_here(session: PageSession[Comparison], run: store.StoredRun) -> None:
    """Train the run again on this server, so that its checkpoints are stored."""
    session.attempt(lambda: _submit(run.config))


def _submit(config: RunConfig) -> None:
    """Train this configuration for the visitor. Raises LineageError, e.g. above a limit."""
    count_action(rate_limits.TRAININGS)
    service.submit(config, current_visitor().id)


def _branch_form(session: PageSession[Comparison], run: store.StoredRun, steps: Sequence[int]) -> None:
    """Draw the step at which the branch starts, and the settings that change there."""
    config, optimiser = run.config, run.config.optimiser
    about = {f: Optimiser.__dataclass_fields__[f].metadata for f in ("learning_rate", "schedule")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step = steps[0]
        if len(steps) > 1:  # a slider needs two ends
            step = st.select_slider("At step", steps, steps[len(steps) // 2], key=f"branch.{run.key}.step", width=320)
        rate = st.number_input(
            "Learning rate",
            1e-6,
            1.0,
            optimiser.learning_rate,
            step=optimiser.learning_rate / 2,
            format="%g",
            width=150,
            help=about["learning_rate"]["help"],
        )
        schedules = ("constant", "linear", "cosine")
        schedule = st.selectbox(
            "Schedule", schedules, schedules.index(optimiser.schedule), width=150, help=about["schedule"]["help"]
        )
        length_name = "iterations" if config.iterations else "epochs"
        label, most = ("Total steps", 1_000_000) if config.iterations else ("Total epochs", 2_000)
        length = st.number_input(label, 1, most, getattr(config, length_name), width=130)
        order = st.number_input(
            "Order of batches", 0, 2**31 - 1, config.order, width=150, help="Another number gives another random order."
        )
    changes = {"learning_rate": rate, "schedule": schedule, length_name: length, "order": order}
    try:
        child = limits.check(branch_from(config, step, changes))
    except LineageError as error:
        show_problems([str(error)])
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Train the branch", icon=":material/fork_right:") and session.attempt(lambda: _submit(child)):
            session.state = session.state.with_runs((*session.state.displayed_runs, run_key(child)))
            st.rerun()
        duration = format_duration(max(expected_seconds(child), 0.1))
        caption(f"{child.steps - step:,} steps, about {duration}.")
