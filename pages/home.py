"""Home: an English sentence through six models, and the lineage as a timeline."""

from __future__ import annotations

import streamlit as st

from explorer import ui
from explorer.catalogue import PAGES
from explorer.experiments.default_runs import ENGLISH_MODELS, sentiment_runs
from explorer.labs.home.timeline import HomeState, figure_calls, timeline_view
from explorer.labs.negation.answers import answers_section
from explorer.labs.negation.english_page import english_vocabulary
from explorer.labs.negation.sentence_input import draw_sentence_input
from explorer.labs.negation.state import MAX_TYPED
from explorer.model.example_texts import ENGLISH_EXAMPLES
from explorer.ui.classroom.lesson_step import open_step
from explorer.ui.page_sections import lead, page_head
from explorer.ui.state.session import fragment, open_page, page_session
from explorer.ui.training.run_view import run_views
from explorer.web import lesson_results

_WORDS = "lineage.home.words"  # the pieces of words that are read


def sentence_section(session: ui.PageSession[HomeState]) -> None:
    """Draw the sentence field and the answers of the models."""
    views = run_views(sentiment_runs(ENGLISH_MODELS))
    vocabulary = english_vocabulary(views)

    def draw_input() -> None:
        st.session_state[_WORDS] = draw_sentence_input(
            session, ENGLISH_EXAMPLES, ("sentence", "one-sentence"), vocabulary, "or one of these", longest=MAX_TYPED
        )

    fragment(session, "sentence", draw_input)
    answers_section(views, lambda: st.session_state[_WORDS], None, "one-sentence")
    first = next(iter(lesson_results.all_lessons().values()))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Start with lesson 1", icon=":material/play_arrow:", key="home.lesson", help=first.title):
            open_step(first.name, 1)
        st.page_link("negation.py", label="See how each model computes its answer", icon=":material/arrow_forward:")


def open_clicked_page() -> None:
    """Open the page whose link in the timeline was clicked."""
    opened = ui.pop_event("lineage", "open")
    if opened in {row.address for row in PAGES}:
        open_page(opened, {})


session = page_session("home", HomeState)
page_head("From a bag of words to attention")
lead(
    "How did we get from counting words to ChatGPT? Type a sentence, train every model on the way, and take it apart. "
    "First: is this sentence positive or negative?"
)
ui.show_problems(session.problems)
sentence_section(session)
st.header("Ten ideas, each with a small model to try", anchor=False)
ui.show_each(
    "timeline",
    figure_calls(),
    timeline_view,
    waiting="The figures are being computed …",
    height=700,
    partly=True,
    events={"lineage": ("open",)},
    on_event=open_clicked_page,
)
