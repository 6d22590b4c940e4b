"""The version of the task and the sentence that the models are asked about."""

from __future__ import annotations

import streamlit as st

from explorer.errors import SentenceError, UnknownWords
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import TASK_VERSIONS, negation_task
from explorer.tasks.negation import VOCABULARY
from explorer.ui import wording
from explorer.ui.page_sections import escape_markdown, lead
from explorer.ui.state.session import change
from explorer.ui.state.widgets import bind_widget

_VERSION_TEXT = {
    "one “not”": "Everything here is said in six sentences. To *preserve* nature sustains it, to *consume* or "
    "*destroy* it lets it collapse, and **not** turns each of these around.",
    "two “not”s": "A second **not** undoes the first: *human not not destroy nature* collapses again. To know the "
    "end, one has to count the “not”s and know which verb they turn.",
    "a pair held out": "Training never shows *destroy* together with **not**; the test does. Whoever has understood "
    "“not” needs no example.",
}


# The fragments of the page that depend on the sentence: only these are redrawn when it changes.
_REDRAW = ("sentence", "verdicts", "insides", "trap")


def version_row(session: NegationSession) -> None:
    """Draw the choice of the version of the task, with a sentence about it."""
    version = session.experiment.version
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        lead(_VERSION_TEXT.get(version or "", "A world of your own, with the settings of “The task” below."))
        bind_widget(
            session,
            "world",
            st.segmented_control,
            shown=version,
            update=lambda lab, name: lab.with_shared(**TASK_VERSIONS[name]),
            label="The world",
            options=TASK_VERSIONS.keys(),
            label_visibility="collapsed",
        )


def sentence_row(session: NegationSession) -> None:
    """Draw the inputs of the sentence; `session.words` keeps the last one that is valid."""
    lab = session.experiment
    sentences = [s.text for s in negation_task(lab.task).sentences]

    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(
            session,
            "say",
            st.text_input,
            update=lambda lab, text: lab.with_sentence(text),
            redraw=_REDRAW,
            placeholder="human not preserve nature",
            width=330,
        )
        bind_widget(
            session,
            "pick",
            st.pills,
            shown=lab.say if lab.say in sentences else None,
            update=lambda lab, text: lab.with_sentence(text),
            redraw=_REDRAW,
            label=f"or take one of the {wording.number_word(len(sentences))}: human … nature",
            options={text: text.removeprefix("human ").removesuffix(" nature") for text in sentences},
            wrap=True,
            width="content",
        )
    try:
        session.words = VOCABULARY.split(lab.say)
    except SentenceError as error:
        st.warning(escape_markdown(str(error)), icon=":material/help:")
        if isinstance(error, UnknownWords):
            _spelling_suggestions(session, error)
        st.caption(f"Below: the last sentence they could read, “{' '.join(session.words)}”.")


def _spelling_suggestions(session: NegationSession, error: UnknownWords) -> None:
    """Offer, for each unknown word, the words of the vocabulary with the most similar spelling."""
    for word, candidates in list(error.nearest.items())[:3]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{word[:24]} →")
            for candidate in candidates:

                def replace_word(word: str = word, candidate: str = candidate) -> None:
                    change(
                        session,
                        lambda lab: lab.with_sentence(VOCABULARY.replace_word(lab.say, word, candidate)),
                        _REDRAW,
                    )

                st.button(candidate, key=f"near.{word[:24]}.{candidate}", on_click=replace_word)
