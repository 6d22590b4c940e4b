"""Home: the lineage as a timeline, and one sentence through four models."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import PAGES
from explorer.ui import warmup
from explorer.ui.components import timeline
from explorer.ui.home import SENTENCE, stations
from explorer.ui.negation_lab import NegationLab
from explorer.ui.page import lead, page_head
from explorer.ui.runs import lanes
from explorer.ui.speaking import show_verdicts


@st.fragment(run_every=None if warmup.ready() else 0.5)
def lineage() -> None:
    """The stations stand at once; their figures come when a model can be asked."""
    warm = warmup.ready()
    asked = timeline(stations(figures=warm), key="lineage")
    if asked in {row.address for row in PAGES}:
        st.switch_page(next(row.file for row in PAGES if row.address == asked))
    if warm and not st.session_state.get("lineage.warm"):
        st.session_state["lineage.warm"] = True
        st.rerun()  # once more, without the clock


page_head("From counting words to paying attention")
lead(
    "Seven ideas, and a small model for each that learns while you watch. Open one, change a number, see what breaks.",
)
lineage()
show_verdicts(lanes(NegationLab().configs), SENTENCE, key="one-sentence", heading=st.header)
