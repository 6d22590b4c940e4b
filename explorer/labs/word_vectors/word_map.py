"""The map: chosen words on the first two principal components of their vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from explorer.figures.words.word_vectors import word_map
from explorer.inspection.words import word_vectors
from explorer.inspection.words.word_vectors import project, unknown_word_message
from explorer.labs.word_vectors import findings
from explorer.labs.word_vectors.questions import Views, select_finished, table_of, title_of
from explorer.labs.word_vectors.state import MAX_SHOWN, WordVectorsState
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView

HEIGHT = 420


@dataclass(frozen=True, eq=False)
class WordMap:
    """The map of one run, and messages about words that are left out."""

    projection: word_vectors.Projection
    seed: int
    width: int
    problems: tuple[str, ...]


def map_section(session: PageSession[WordVectorsState], views: Views) -> None:
    """Draw the box for the words, and their map in every model."""
    state = session.state
    trained = select_finished(views)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "show", st.text_input, shown=state.examples[4], width=620)
        seeds = max((view.config.replicas for view in trained.values()), default=1)
        bind_widget(session, "replica", st.selectbox, options=range(max(seeds, state.replica + 1)), width=90)
    if not trained:
        return
    words = tuple(dict.fromkeys(state.examples[4].split()))
    jobs: dict[str, Request[WordMap]] = {
        name: (("word-map", *view.cache_key, words, state.replica), partial(_project, view, words, state.replica))
        for name, view in trained.items()
    }
    about = tuple((name, title_of(state, name), view.row.colour) for name, view in trained.items())
    marked = tuple(state.examples[:4])
    result_section("words-map", jobs, partial(_draw, about, marked), "The map is computed …", HEIGHT + 60)


def _project(view: RunView, words: tuple[str, ...], replica: int) -> WordMap:
    table = table_of(view)
    words = words or table.words[20:40]  # of a text without an example
    problems = [unknown_word_message(word, table.words[1:]) for word in words if word not in table.index]
    known = [word for word in words if word in table.index]
    if len(known) > MAX_SHOWN:
        problems.append(f"{len(known)} words are too many: the first {MAX_SHOWN} are shown.")
    if len(known) < 3:
        problems.append("A map needs at least three words; the most frequent ones are shown.")
        known = list(table.words[1 : MAX_SHOWN + 1])
    replica = min(replica, view.config.replicas - 1)
    seed = view.config.seed + replica
    return WordMap(project(table, known[:MAX_SHOWN], replica), seed, table.unit.shape[-1], tuple(problems))


def _draw(
    about: tuple[tuple[str, str, str], ...],
    marked: tuple[str, ...],
    document: Document,
    results: Mapping[str, WordMap],
) -> None:
    document.problems(dict.fromkeys(problem for each in results.values() for problem in each.problems))
    shown = [(name, title, colour) for name, title, colour in about if name in results]
    panels = [
        Panel(
            f"words-map-{name}",
            word_map(results[name].projection.points, results[name].projection.words, colour, marked),
            alt=f"{title}: a map of {', '.join(results[name].projection.words)}.",
            title=title,
        )
        for name, title, colour in shown
    ]
    add_plot_frame(document, panels, key="words-map-figure", height=HEIGHT, narrow_height=380, columns=len(panels))
    first = results[shown[0][0]]
    document.caption(findings.map_caption(first.projection.explained, first.seed, first.width))
