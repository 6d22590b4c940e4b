"""Two questions to word vectors: the neighbours of a word, and analogies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import streamlit as st

from explorer.errors import InvalidSetting
from explorer.inspection.words.word_vectors import (
    Analogy,
    AnalogyAccuracy,
    Candidate,
    WordTable,
    analogy,
    analogy_accuracy,
    load_table,
    neighbours,
)
from explorer.labs.word_vectors import findings
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.ui.components.table import add_table, column, strip_cell
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import count_seeds

Views: TypeAlias = Mapping[str, RunView]
HEIGHT = 400


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of a word in one run."""

    word: str
    candidates: list[Candidate]
    problem: str = ""  # why an example is shown instead; empty if the word is known


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of one run to an analogy, and its accuracy on all known questions."""

    question: tuple[str, str, str]
    analogy: Analogy
    accuracy: AnalogyAccuracy | None
    planted: bool
    words: int
    problem: str = ""  # why examples are shown instead; empty if the words are known


def select_finished(views: Views) -> dict[str, RunView]:
    """Return the views of runs whose weights are available."""
    return {name: view for name, view in views.items() if view.loaded_run is not None}


def table_of(view: RunView) -> WordTable:
    """Return the word vectors of a run. Raises DamagedRun."""
    assert view.loaded_run is not None
    return load_table(view.loaded_run)


def title_of(state: WordVectorsState, name: str) -> str:
    """Return the title of a model or of the requested run."""
    return state.variants[name].title


def neighbours_section(session: PageSession[WordVectorsState], views: Views) -> None:
    """Draw the box for a word, and its nearest neighbours in every model."""
    state = session.state
    bind_widget(session, "word", st.text_input, shown=state.examples[0], width=260)
    trained = select_finished(views)
    if not trained:
        return
    word = state.examples[0]
    example = state.untyped.examples[0]
    jobs: dict[str, Request[Neighbours]] = {
        name: (("word-neighbours", *view.cache_key, word), partial(_find_neighbours, view, word, example))
        for name, view in trained.items()
    }
    titles = tuple((name, title_of(state, name), view.row.colour) for name, view in trained.items())
    result_section("words-near", jobs, partial(_draw_neighbours, titles), "The vectors are loaded …", HEIGHT)


def _find_neighbours(view: RunView, word: str, example: str) -> Neighbours:
    table = table_of(view)
    word = word or table.words[min(20, len(table.words) - 1)]  # of a text without an example
    (word,), problem = _known_words(table, (word,), (example,))
    return Neighbours(word, neighbours(table, word), problem)


def _known_words(table: WordTable, words: tuple[str, ...], examples: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the words if all have vectors; otherwise the examples, and a sentence about that."""
    try:
        table.ids(words)
        return words, ""
    except InvalidSetting as error:
        if words == examples or not all(examples):
            raise
        return examples, f"{error} Shown is “{', '.join(examples)}”."


def _draw_neighbours(
    titles: tuple[tuple[str, str, str], ...], document: Document, results: Mapping[str, Neighbours]
) -> None:
    first = next(iter(results.values()))
    document.problems(filter(None, [first.problem]))
    document.finding(findings.neighbours_finding(first.word, first.candidates))
    shown = [each for each in titles if each[0] in results]
    for part, (name, title, colour) in zip(document.columns(len(shown)), shown, strict=True):
        _add_candidates(part, f"words-near-{name}", title, colour, results[name].candidates)
    seeds = len(first.candidates[0].cosines)
    document.caption(f"Cosine similarity of the two vectors: median of {count_seeds(seeds)}, and a dot for each seed.")


def _add_candidates(document: Document, key: str, title: str, colour: str, candidates: list[Candidate]) -> None:
    rows: list[dict[str, object]] = [
        {
            "word": {"text": f"{each.word} (excluded)" if each.excluded else each.word, "colour": colour},
            "cosine": strip_cell(f"{np.median(each.cosines):.2f}", each.cosines, 3, mark=None),
        }
        for each in candidates
    ]
    columns = [
        column("word", title),
        column("cosine", "cosine similarity", "strip", range=[0, 1]),
    ]
    add_table(document, columns, rows, key=key, label=f"{title}: words by cosine similarity")


def analogy_section(session: PageSession[WordVectorsState], views: Views) -> None:
    """Draw the three boxes of an analogy, and its answers."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, example in zip("abc", state.examples[1:4], strict=True):
            bind_widget(session, name, st.text_input, shown=example, width=150)
    question = state.examples[1], state.examples[2], state.examples[3]
    trained = select_finished(views)
    if not trained:
        return
    examples = state.untyped.examples[1:4]
    if not all(question):
        st.caption("Enter three words of the text.")
        question = examples
    if not all(question):
        return
    jobs: dict[str, Request[Answers]] = {
        name: (
            ("word-analogy", *view.cache_key, *question),
            partial(_answer, view, question, examples),
        )
        for name, view in trained.items()
    }
    titles = tuple((name, title_of(state, name), view.row.colour) for name, view in trained.items())
    result_section("words-analogy", jobs, partial(_draw_answers, titles), "Every seed answers …", HEIGHT)


def _answer(view: RunView, question: tuple[str, ...], examples: tuple[str, ...]) -> Answers:
    table = table_of(view)
    planted = table.task.corpus == "grammar"
    (a, b, c), problem = _known_words(table, question, examples)
    found, accuracy = analogy(table, a, b, c), analogy_accuracy(table)
    return Answers((a, b, c), found, accuracy, planted, len(table.words) - 1, problem)


def _draw_answers(titles: tuple[tuple[str, str, str], ...], document: Document, results: Mapping[str, Answers]) -> None:
    first = next(iter(results.values()))
    document.problems(filter(None, [first.problem]))
    document.finding(findings.analogy_finding(first.question, first.analogy))
    shown = [each for each in titles if each[0] in results]
    for part, (name, title, colour) in zip(document.columns(len(shown)), shown, strict=True):
        _add_candidates(part, f"words-analogy-{name}", title, colour, results[name].analogy.candidates)
    document.caption(
        "Cosine similarity to b − a + c, computed from unit vectors. The words of the question are excluded from the "
        "answers."
    )
    for name, title, _ in shown:
        each = results[name]
        document.text(f"{title}: {findings.exclusion_sentence(each.question, each.analogy)}")
        if each.accuracy:
            document.text(findings.accuracy_sentence(title, each.accuracy, each.planted, each.words))
