"""Home: the lineage as a timeline, and one sentence through four models."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import PAGES
from explorer.experiments.default_runs import negation_runs
from explorer.labs.home.timeline import SENTENCE, draw_timeline, stations
from explorer.labs.negation.verdicts import show_verdicts
from explorer.ui.page_sections import lead, page_head
from explorer.ui.training.run_view import run_views
from explorer.web import warmup


@st.fragment(run_every=None if warmup.is_ready() else 0.5)
def timeline_section() -> None:
    """Draw the stations at once, and their figures as soon as torch has been loaded."""
    warm = warmup.is_ready()
    address = draw_timeline(stations(figures=warm), key="lineage")
    if address in {row.address for row in PAGES}:
        st.switch_page(next(row.file for row in PAGES if row.address == address))
    if warm and not st.session_state.get("lineage.warm"):
        st.session_state["lineage.warm"] = True
        st.rerun()  # once more, without the timer


page_head("From counting words to paying attention")
lead(
    "Seven ideas, and a small model for each that learns while you watch. Open one, change a number, see what breaks.",
)
timeline_section()
show_verdicts(run_views(negation_runs()), SENTENCE, key="one-sentence", heading=st.header)
