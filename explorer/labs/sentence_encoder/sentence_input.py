"""The field in which visitors write their own sentences."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.tasks.sequence_labelling.homographs import FRAMES, NOUNS, SENSES, SYNONYMS
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.wording import join_words


def sentence_input(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the field for the visitor's sentences and the vocabulary of the language."""
    state = session.state
    bind_widget(session, "say", st.text_area, shown=state.text, update=SentenceEncoderState.with_sentences, height=282)
    st.button(
        "Back to the examples",
        icon=":material/undo:",
        disabled=not state.say,
        on_click=lambda: session.change(lambda s: replace(s, say="", chosen=0)),
    )
    st.markdown("**Vocabulary**")
    for topic, nouns in NOUNS.items():
        word = next(word for word, topics in SENSES.items() if topic in topics)
        st.markdown(f"**{word}: {topic}**, synonym “{SYNONYMS[topic]}”. {', '.join(nouns)}")
    st.caption("The last two of each eight nouns never stand next to the word with two senses in training.")
    small = sorted({word for frame in FRAMES for word in frame} - {"X", "A", "B"})
    st.markdown(f"Function words: {join_words(small)}.")
