"""Compare: any runs side by side, on the same axes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from explorer.errors import LineageError
from explorer.labs.compare.branching import branch_section
from explorer.labs.compare.chart import chart_controls, curves_section
from explorer.labs.compare.comparison import load_runs
from explorer.labs.compare.results import differences_section, step_cost_section
from explorer.labs.compare.state import MOST, Comparison
from explorer.labs.compare.sweep_section import sweep_section
from explorer.labs.compare.tuned import tuned_section
from explorer.labs.runs.descriptions import find_run_options
from explorer.tasks.text.config import TextConfig
from explorer.ui.page_sections import caption, empty_panel, lead, perplexity_link, show_problems
from explorer.ui.sections import folded_section
from explorer.ui.state.session import (
    PageSession,
    focus_run,
    focused_run,
    has_just_arrived,
    page_session,
    write_url,
)
from explorer.ui.state.visitor import current_visitor
from explorer.ui.state.widgets import bind_widget


def run_picker(session: PageSession[Comparison]) -> None:
    """Draw the choice of the runs; where there are many, with a field that searches them."""
    selected = list(session.state.displayed_runs)
    found = find_run_options(session.state.find, selected)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if found.searchable:
            bind_widget(
                session,
                "find",
                st.text_input,
                update=lambda state, text: replace(state, find=text.strip()),
                placeholder="task, model, setting, tag, key",
                width=260,
            )
        bind_widget(
            session,
            "runs",
            st.multiselect,
            shown=selected,
            update=Comparison.with_runs,
            options=found.labels,
            max_selections=MOST,
            placeholder="Search for a task, a model, a setting",
        )
    if found.note:
        caption(found.note)


def page(session: PageSession[Comparison]) -> None:
    """Draw the whole page."""
    lead("**Drag the target line**: the run that reaches it first by steps may not be the first by seconds.")
    show_problems(session.problems)
    run_picker(session)
    runs, missing = load_runs(session.state.displayed_runs, current_visitor().id)
    show_problems(missing)
    if runs:
        curves_section(session)
        chart_controls(session)
    else:
        empty_panel("Choose runs above, or tick some on the Runs page.", 320)
    if any(isinstance(run.config.task, TextConfig) for run in runs):
        perplexity_link()
    folded_section("sweeps", "Which settings work best?", partial(sweep_section, session))
    question = "Which architecture is best if each has its own learning rate?"
    folded_section("tuned", question, partial(tuned_section, session))
    if not runs:
        return
    folded_section("settings", "Which settings differ between these runs?", partial(differences_section, runs))
    folded_section("axes", "Why can steps, tokens and seconds disagree?", partial(step_cost_section, runs))
    folded_section("branch", "Branch: continue a run with other settings", partial(branch_section, session, runs))


session = page_session("compare", Comparison)
state = session.state
# One more run, named by the URL or focused on another page.
if added := state.run or (focused_run() if has_just_arrived() and not state.runs else ""):
    session.state = replace(state, runs=tuple(dict.fromkeys((added, *state.runs))), run="")
if len(session.state.runs) > MOST:
    session.problems = (f"{len(session.state.runs)} runs are too many to compare; the first {MOST} are shown.",)
    session.state = replace(session.state, runs=session.state.runs[:MOST])
if len(session.state.runs) == 1:
    focus_run(session.state.runs[0])
try:
    page(session)
except LineageError as error:
    show_problems([str(error)])
write_url(session)
