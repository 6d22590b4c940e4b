"""Home: the lineage as a timeline, and one sentence through six models."""

from __future__ import annotations

from explorer.catalogue import PAGES
from explorer.experiments.default_runs import negation_runs
from explorer.labs.home.timeline import SENTENCE, add_timeline, stations
from explorer.labs.negation.answers import answers_section
from explorer.ui.components.base import pop_event
from explorer.ui.document import Document
from explorer.ui.page_sections import lead, page_head
from explorer.ui.result_section import live_section
from explorer.ui.state.session import open_page
from explorer.ui.training.run_view import run_views
from explorer.web import warmup


def draw_stations(document: Document) -> float | None:
    """Draw the stations at once, and their figures as soon as torch has been loaded."""
    warm = warmup.is_ready()
    add_timeline(document, stations(warm), key="lineage")
    return None if warm else 0.5


def open_station() -> None:
    """Open the page whose link was clicked."""
    opened = pop_event("lineage", "open")
    if opened in {row.address for row in PAGES}:
        open_page(opened, {})


page_head("From a bag of words to attention")
lead(
    "Eight ideas, and a small model for each that learns while you watch. Open one, change a number, see what breaks.",
)
live_section(
    "timeline",
    draw_stations,
    430,
    events={"lineage": ("open",)},
    apply_events=open_station,
)
answers_section(run_views(negation_runs()), lambda: SENTENCE, "one-sentence")
