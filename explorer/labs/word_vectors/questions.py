"""Three questions to word vectors: the neighbours of a word, analogies, and a map of chosen words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.words.word_questions import (
    Answers,
    Neighbours,
    WordMap,
    answer_analogy,
    find_neighbours,
    map_words,
)
from explorer.inspection.words.word_vectors import Candidate
from explorer.labs.word_vectors import findings
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.run_store.store import StoredRun
from explorer.training.record import Record

Variants: TypeAlias = Mapping[str, ModelVariant]
HEIGHT = 400


def finished_runs(views: Mapping[str, ui.RunView]) -> dict[str, StoredRun | Record]:
    """Return the runs whose weights are available, by model name."""
    return {name: run for name, view in views.items() if (run := view.loaded_run) is not None}


def neighbours_section(session: ui.PageSession[WordVectorsState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the nearest neighbours of the word in every model."""
    state = session.state
    word, example = state.examples[0], state.untyped.examples[0]
    calls = {name: ui.Call(find_neighbours, run, word, example) for name, run in finished_runs(views).items()}
    if calls:
        waiting = "The vectors are loaded …"
        ui.show_each("words-near", calls, neighbours_view, state.variants, waiting=waiting, height=HEIGHT)


def neighbours_view(document: ui.Document, results: Mapping[str, Neighbours], variants: Variants) -> None:
    """Write the nearest neighbours of a word in every model."""
    first = next(iter(results.values()))
    document.problems(filter(None, [first.problem]))
    document.finding(findings.neighbours_finding(first.word, first.candidates))
    _add_candidates(document, "words-near", variants, {name: each.candidates for name, each in results.items()})
    seeds = len(first.candidates[0].cosines)
    document.caption(
        f"Cosine similarity of the two vectors: median of {ui.count_seeds(seeds)}, and a dot for each seed."
    )


def _add_candidates(
    document: ui.Document, key: str, variants: Variants, results: Mapping[str, Sequence[Candidate]]
) -> None:
    for part, (name, candidates) in zip(document.columns(len(results)), results.items(), strict=True):
        variant = variants[name]
        rows = [
            {
                "word": charts.Cell(f"{each.word} (excluded)" if each.excluded else each.word, variant.colour),
                "cosine": charts.strip(f"{np.median(each.cosines):.2f}", each.cosines),
            }
            for each in candidates
        ]
        columns = {
            "word": charts.Column(variant.title),
            "cosine": charts.Column("cosine similarity", "strip", range=(0, 1)),
        }
        part.table(f"{key}-{name}", charts.Table(columns, rows, f"{variant.title}: words by cosine similarity"))


def analogy_section(session: ui.PageSession[WordVectorsState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the three boxes of an analogy, and its answers."""
    state, runs = session.state, finished_runs(views)
    question, examples = state.examples[1:4], state.untyped.examples[1:4]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, word in zip("abc", question, strict=True):
            ui.bind_widget(session, name, st.text_input, shown=word, width=150)
    if runs and not all(question):
        ui.caption("Enter three words of the text.")
        question = examples
    if runs and all(question):
        calls = {name: ui.Call(answer_analogy, run, question, examples) for name, run in runs.items()}
        waiting = "Every seed answers …"
        ui.show_each("words-analogy", calls, analogy_view, state.variants, waiting=waiting, height=HEIGHT)


def analogy_view(document: ui.Document, results: Mapping[str, Answers], variants: Variants) -> None:
    """Write the answers of every model to an analogy, and its accuracy on all known questions."""
    first = next(iter(results.values()))
    document.problems(filter(None, [first.problem]))
    document.finding(findings.analogy_finding(first.question, first.analogy))
    candidates = {name: each.analogy.candidates for name, each in results.items()}
    _add_candidates(document, "words-analogy", variants, candidates)
    document.caption(
        "Cosine similarity to b − a + c, computed from unit vectors. The words of the question are excluded from the "
        "answers."
    )
    for name, each in results.items():
        title = variants[name].title
        document.text(f"{title}: {findings.exclusion_sentence(each.question, each.analogy)}")
        if each.accuracy:
            document.text(findings.accuracy_sentence(title, each.accuracy, each.planted, each.words))


def map_section(session: ui.PageSession[WordVectorsState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the map of the words, with the neighbours of the typed one, in every model, and the box for the words."""
    state, runs = session.state, finished_runs(views)
    word, show = state.examples[0], state.examples[-1]
    words = tuple(dict.fromkeys(show.split()))
    calls = {name: ui.Call(map_words, run, words, state.replica, word) for name, run in runs.items()}
    if calls:
        waiting = "The map is computed …"
        ui.show_each("words-map", calls, map_view, state.variants, word, waiting=waiting, height=480)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "show", st.text_input, shown=show, width=620)
        seeds = max((run.config.replicas for run in runs.values()), default=1)
        ui.bind_widget(session, "replica", st.selectbox, options=range(max(seeds, state.replica + 1)), width=90)


def map_view(document: ui.Document, results: Mapping[str, WordMap], variants: Variants, word: str) -> None:
    """Write the map of every model; the point of `word` is larger."""
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
                (word,),
            ),
            title=variants[name].title,
        )
        for name, each in results.items()
    ]
    document.figures("words-map-figure", panels, height=420, narrow_height=380, columns=len(panels))
    first = next(iter(results.values()))
    document.caption(findings.map_caption(first.projection.explained, first.seed, first.width))
