"""The sentence that the models are asked about, and the version of the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from explorer.errors import SentenceError, UnknownWords
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import TASK_VERSIONS, negation_task
from explorer.tasks.negation import OUTCOME, VOCABULARY
from explorer.ui import wording
from explorer.ui.page_sections import escape_markdown, lead
from explorer.ui.state.session import PageSession, change
from explorer.ui.state.widgets import bind_widget

_LANGUAGE = (
    "This tiny language has {count} sentences. By its grammar, *preserve* keeps nature alive (“sustain”), "
    "*consume* and *destroy* let it collapse, and **not** flips the answer."
)
_VERSION_TEXT = {
    "one “not”": "Each sentence has at most one “not”.",
    "two “not”s": "A second “not” cancels the first one.",
    "“not destroy” held out": "Training never shows “not destroy”; whether a model answers it correctly is the test.",
}


# The fragments of the page that depend on the sentence: only these are redrawn when it changes.
_REDRAW = ("sentence", "verdicts", "insides", "more-insides", "trap")


def language_text(count: int) -> str:
    """Return what the language with this number of sentences says."""
    return _LANGUAGE.format(count=wording.number_word(count))


def language_lead(session: NegationSession) -> None:
    """Draw a sentence about the language of this version of the task."""
    lead(language_text(len(negation_task(session.experiment.task).sentences)))


def version_row(session: NegationSession) -> None:
    """Draw the choice of the version of the task, with a sentence about it."""
    version = session.experiment.version
    with st.container(horizontal=True, vertical_alignment="center"):
        bind_widget(
            session,
            "world",
            st.segmented_control,
            shown=version,
            update=lambda lab, name: lab.with_version(name),
            label="Version of the task",
            options=TASK_VERSIONS.keys(),
            width="content",
        )
        with st.container(width="stretch"):
            st.caption(_VERSION_TEXT.get(version or "", "A version with your own settings."))


def sentence_row(session: NegationSession) -> None:
    """Draw the inputs of the sentence; `session.words` keeps the last one that is valid."""
    sentences = [s.text for s in negation_task(session.experiment.task).sentences]
    session.words = draw_sentence_input(session, sentences, session.words, _REDRAW)


def draw_sentence_input(
    session: PageSession[Any], sentences: Sequence[str], last: tuple[str, ...], redraw: tuple[str, ...]
) -> tuple[str, ...]:
    """Draw the text field and the examples; return the words of the sentence, or `last` if it is not valid.

    session: its state has a field `say`.
    redraw: the fragments that depend on the sentence.
    """
    say = session.state.say
    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(
            session,
            "say",
            st.text_input,
            update=lambda state, text: replace(state, say=text),
            redraw=redraw,
            placeholder="human not preserve nature",
            width=330,
        )
        bind_widget(
            session,
            "pick",
            st.pills,
            shown=say if say in sentences else None,
            update=lambda state, text: replace(state, say=text),
            redraw=redraw,
            label="or pick one: human … nature",
            options={text: text.removeprefix("human ").removesuffix(" nature") for text in sentences},
            wrap=True,
            width="content",
        )
    try:
        return VOCABULARY.split(say)
    except SentenceError as error:
        if isinstance(error, UnknownWords):
            _draw_unknown_words(session, error, redraw)
        else:
            st.warning(escape_markdown(str(error)), icon=":material/help:")
        st.caption(f"Below are the answers to the last sentence that can be read, “{' '.join(last)}”.")
        return last


def _draw_unknown_words(session: PageSession[Any], error: UnknownWords, redraw: tuple[str, ...]) -> None:
    """Say which words are unknown, and offer known words that are spelled similarly."""
    known = wording.join_words(["human", "nature", *OUTCOME, "not"])
    st.warning(escape_markdown(f"{error.reason} They know {known}."), icon=":material/help:")
    similar = [(word, known) for word in error.nearest for known in VOCABULARY.similar(word)][:4]
    if not similar:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Similar spelling:", width="content")
        for word, known in similar:

            def replace_word(word: str = word, known: str = known) -> None:
                change(
                    session, lambda state: replace(state, say=VOCABULARY.replace_word(state.say, word, known)), redraw
                )

            label = escape_markdown(f"{word[:24]} → {known}")
            st.button(label, key=f"near.{word[:24]}.{known}", on_click=replace_word)
