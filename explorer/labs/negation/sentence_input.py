"""The version of the task and the sentence that the models are asked about."""

from __future__ import annotations

import streamlit as st

from explorer.errors import SentenceError, UnknownWords
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import TASK_VERSIONS
from explorer.tasks.negation import VOCABULARY, Negation
from explorer.ui import wording
from explorer.ui.page_sections import escape_markdown, lead
from explorer.ui.state.session import bind_widget, change

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
        ties = bind_widget(session, "world", version, lambda lab, v: lab.with_shared(**TASK_VERSIONS[v]) if v else lab)
        st.segmented_control("The world", list(TASK_VERSIONS), label_visibility="collapsed", **ties)


def sentence_row(session: NegationSession) -> None:
    """Draw the inputs of the sentence; `session.words` keeps the last one that is valid."""
    lab = session.experiment
    sentences = [s.text for s in Negation(lab.task).sentences]

    def label(text: str) -> str:
        return text.removeprefix("human ").removesuffix(" nature")

    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bind_widget(session, "say", lab.say, lambda lab, text: lab.with_sentence(text), redraw=_REDRAW)
        st.text_input("Type a sentence", width=330, placeholder="human not preserve nature", **ties)
        selected = lab.say if lab.say in sentences else None
        ties = bind_widget(
            session, "pick", selected, lambda lab, text: lab.with_sentence(text or lab.say), redraw=_REDRAW
        )
        pick = f"or take one of the {wording.number_word(len(sentences))}: human … nature"
        st.pills(pick, sentences, format_func=label, wrap=True, width="content", **ties)
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
