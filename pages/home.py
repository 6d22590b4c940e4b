"""Home: an English sentence through six models, a short training, and the lineage as a timeline."""

from __future__ import annotations

import streamlit as st

from explorer import ui
from explorer.catalogue import PAGES
from explorer.experiments.default_runs import ENGLISH_MODELS, sentiment_runs
from explorer.labs.home.race import race_section
from explorer.labs.home.timeline import HomeState, figure_calls, timeline_view
from explorer.labs.negation.answers import answers_section
from explorer.labs.negation.english_page import english_vocabulary
from explorer.labs.negation.sentence_input import draw_sentence_input
from explorer.labs.negation.state import MAX_TYPED
from explorer.model.example_texts import ENGLISH_EXAMPLES
from explorer.ui.classroom.lesson_step import open_step
from explorer.ui.page_sections import lead
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
            session,
            ENGLISH_EXAMPLES[:3],
            ("sentence", "one-sentence"),
            vocabulary,
            "Examples",
            longest=MAX_TYPED,
        )

    fragment(session, "sentence", draw_input)
    answers_section(views, lambda: st.session_state[_WORDS], None, "one-sentence")


def training_section() -> None:
    """Draw the short training, and the way into the lessons."""
    st.subheader("Train five networks to write such sentences", anchor=False)
    race_section()
    first = next(iter(lesson_results.all_lessons().values()))
    if st.button("Start with lesson 1", icon=":material/school:", key="home.lesson", help=first.title, type="primary"):
        open_step(first.name, 1)


def open_clicked_page() -> None:
    """Open the page whose link in the timeline was clicked."""
    opened = ui.pop_event("lineage", "open")
    if opened in {row.address for row in PAGES}:
        open_page(opened, {})


session = page_session("home", HomeState)
lead("Type a sentence: is it positive or negative? Train every model on the way, and take it apart.")
ui.show_problems(session.problems)
left, right = st.columns([7, 5], gap="large")
with left:
    sentence_section(session)
with right:
    training_section()
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
