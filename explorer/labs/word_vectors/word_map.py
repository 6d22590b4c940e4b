"""The map: chosen words on the first two principal components of their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from explorer import charts, ui
from explorer.inspection.words.word_questions import WordMap, map_words
from explorer.labs.word_vectors import findings
from explorer.labs.word_vectors.questions import Variants, finished_runs
from explorer.labs.word_vectors.state import WordVectorsState


def map_section(session: ui.PageSession[WordVectorsState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the box for the words, and their map in every model."""
    state, runs = session.state, finished_runs(views)
    *marked, show = state.examples
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "show", st.text_input, shown=show, width=620)
        seeds = max((run.config.replicas for run in runs.values()), default=1)
        ui.bind_widget(session, "replica", st.selectbox, options=range(max(seeds, state.replica + 1)), width=90)
    words = tuple(dict.fromkeys(show.split()))
    calls = {name: ui.Call(map_words, run, words, state.replica) for name, run in runs.items()}
    if calls:
        waiting = "The map is computed …"
        ui.show_each("words-map", calls, map_view, state.variants, marked, waiting=waiting, height=480)


def map_view(document: ui.Document, results: Mapping[str, WordMap], variants: Variants, marked: Sequence[str]) -> None:
    """Write the map of every model; the words in `marked` have larger points."""
    document.problems(dict.fromkeys(problem for each in results.values() for problem in each.problems))
    panels = [
        ui.Panel(
            f"words-map-{name}",
            charts.PointChart(
                f"Words on the map of {variants[name].words}",
                each.projection.points,
                each.projection.words,
                variants[name].colour,
                charts.Axis("first component"),
                charts.Axis("second component"),
                marked,
            ),
            title=variants[name].title,
        )
        for name, each in results.items()
    ]
    document.figures("words-map-figure", panels, height=420, narrow_height=380, columns=len(panels))
    first = next(iter(results.values()))
    document.caption(findings.map_caption(first.projection.explained, first.seed, first.width))
