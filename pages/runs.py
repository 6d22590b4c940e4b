"""Runs: what this server has trained and stored."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.environment import environment
from explorer.errors import LineageError
from explorer.labs.compare.state import MOST, Comparison
from explorer.labs.runs.actions import actions_row, open_run
from explorer.labs.runs.findings import filtered_finding, overview_finding
from explorer.labs.runs.real_models import real_models_section
from explorer.labs.runs.state import RunsState, search_runs
from explorer.labs.runs.table import overview, runs_section, search_row
from explorer.number_format import format_bytes
from explorer.run_store import index
from explorer.ui.page_sections import caption, empty_panel, lead, show_problems
from explorer.ui.state.session import (
    PageSession,
    focus_run,
    focused_run,
    has_just_arrived,
    page_session,
    url_params_of,
    write_url,
)
from explorer.ui.state.visitor import current_visitor


def disk_usage() -> None:
    """Show how much disk space the runs take, and what happens when it is used up."""
    used, most = index.used_bytes(), environment().most_disk
    sign_in = environment().operator_password and not current_visitor().operator
    caption(
        f"The runs of this server take {format_bytes(used)} of {format_bytes(most)}. When that is "
        "full, the oldest runs of visitors that are not pinned are deleted to make room for new ones."
        + (" [Sign in as the operator](operator)" if sign_in else "")
    )


def page(session: PageSession[RunsState]) -> None:
    """Draw the whole page."""
    lead("A run is one training: its settings, its curves and its weights. Open one, or tick several and compare them.")
    show_problems(session.problems)
    search_row(session)
    visitor = current_visitor()
    entries = search_runs(session.state, visitor)
    filtered = session.state.lists_runs
    sentence = (filtered_finding if filtered else overview_finding)(entries, visitor.id)
    st.subheader(sentence, anchor=False)
    actions = st.container()  # filled after the table, which returns the selection
    if not filtered:
        overview(session, entries, visitor)
    elif entries:
        runs_section(session, entries, visitor)
    else:
        empty_panel("Remove a filter, or train a run on another page.", 120)
    real_models_section(session)
    with actions:
        actions_row(session, url_params_of("compare", Comparison), MOST)
    disk_usage()
    if session.state.run:
        focus_run(session.state.run)
        open_run(session, session.state.run)
    else:
        focus_run("")


session = page_session("runs", RunsState)
if has_just_arrived() and focused_run() and not session.state.run:
    session.state = replace(session.state, run=focused_run())
try:
    page(session)
except LineageError as error:
    show_problems([str(error)])
write_url(session)
