"""Home: one sentence through four models, and the lineage as a timeline."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.catalogue import PAGES
from explorer.experiments.default_runs import negation_runs
from explorer.labs.home.state import FIRST_SENTENCE, HomeState
from explorer.labs.home.timeline import Figure, draw_timeline, figure_requests
from explorer.labs.negation.answers import answers_section
from explorer.labs.negation.sentence_input import draw_sentence_input, language_text
from explorer.labs.negation.state import negation_task
from explorer.tasks.negation import VOCABULARY, NegationConfig
from explorer.ui.classroom.lesson_card import open_step
from explorer.ui.components.base import pop_event
from explorer.ui.page_sections import lead, page_head, show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, fragment, open_page, page_session
from explorer.ui.training.run_view import run_views
from explorer.web import lesson_results

MODELS = ("bag_of_words", "feedforward", "rnn", "transformer")
_WORDS = "lineage.home.words"  # the words that are read


def read_words() -> tuple[str, ...]:
    """Return the words of the sentence that the models are asked about."""
    words: tuple[str, ...] = st.session_state.setdefault(_WORDS, VOCABULARY.split(FIRST_SENTENCE))
    return words


def sentence_section(session: PageSession[HomeState]) -> None:
    """Draw the sentence field and the answers of the models."""
    task = NegationConfig()
    sentences = [sentence.text for sentence in negation_task(task).sentences]

    def draw_input() -> None:
        st.session_state[_WORDS] = draw_sentence_input(session, sentences, ("sentence", "one-sentence"))

    fragment(session, "sentence", draw_input)
    answers_section(run_views(negation_runs(MODELS)), read_words, task, "one-sentence")
    first = next(iter(lesson_results.all_lessons().values()))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Start with lesson 1", icon=":material/play_arrow:", key="home.lesson", help=first.title):
            open_step(first.name, 1)
        st.page_link("negation.py", label="See how each model computes its answer", icon=":material/arrow_forward:")


def requests() -> dict[str, Request[Figure | None]]:
    """Open the page whose link was clicked, or return the figures of the timeline."""
    opened = pop_event("lineage", "open")
    if opened in {row.address for row in PAGES}:
        open_page(opened, {})
    return figure_requests()


session = page_session("home", HomeState)
page_head("From a bag of words to attention")
lead(f"What does a model need to understand “not”? {language_text(len(negation_task(NegationConfig()).sentences))}")
show_problems(session.problems)
sentence_section(session)
st.header("Ten ideas, each with a small model to try", anchor=False)
result_section(
    "timeline",
    requests,
    partial(draw_timeline),
    "The figures are being computed …",
    700,
    partly=True,
    events={"lineage": ("open",)},
)
