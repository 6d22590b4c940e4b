"""One word in the visitor's sentences, as a real model and a random network represent it, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.words.sense_similarity import SimilarityLine, similarity_to_one
from explorer.inspection.pretrained import word_similarity
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import MAX_REAL_SENTENCES, MIN_REAL_SENTENCES, SentenceEncoderState
from explorer.model.real_model import COLOUR, RealModel
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget

HEIGHT = 320


def real_word_section(session: PageSession[SentenceEncoderState], model: RealModel) -> None:
    """Draw the fields for the sentences and the word, and the similarities."""
    state = session.state
    st.subheader("One word in your sentences", anchor=False)
    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(
            session,
            "read",
            st.text_area,
            shown="\n".join(state.real_lines),
            update=SentenceEncoderState.with_real_sentences,
            height=132,
            width=560,
        )
        bind_widget(session, "about", st.text_input, width=240)
        sentences = state.real_lines[:MAX_REAL_SENTENCES]
        bind_widget(
            session,
            "against",
            st.selectbox,
            shown=min(state.against, len(sentences)),
            options=list(range(1, len(sentences) + 1)),
            width=190,
        )
    if len(state.real_lines) > MAX_REAL_SENTENCES:
        show_problems([f"The first {MAX_REAL_SENTENCES} sentences are read; leave the others out."])
    if len(sentences) < MIN_REAL_SENTENCES:
        show_problems([f"Type at least {MIN_REAL_SENTENCES} sentences with the word, to compare it in them."])
        return
    word = state.about.strip()
    key = "real-word", *model.cache_key, sentences, word
    requests: dict[str, Request[ndarray]] = {
        "real": ((*key, "trained"), partial(_similarity, model, sentences, word)),
        "random": ((*key, "random"), partial(_random_similarity, model, sentences, word)),
    }
    reference = min(state.against, len(sentences)) - 1
    draw = partial(_draw, model.title, word, reference)
    result_section("real-word", requests, draw, "The sentences are being read …", HEIGHT + 130, partly=True)


def _similarity(model: RealModel, sentences: tuple[str, ...], word: str) -> ndarray:
    return word_similarity.word_similarity(model.module(), model.tokenizer, sentences, word)


def _random_similarity(model: RealModel, sentences: tuple[str, ...], word: str) -> ndarray:
    return word_similarity.random_word_similarity(model.module(), model.tokenizer, sentences, word)


def _draw(title: str, word: str, reference: int, document: Document, results: Mapping[str, ndarray]) -> None:
    if "real" not in results:
        return
    document.finding(findings.word_in_sentences_finding(word, reference, results["real"], results.get("random")))
    panels = [_panel(title, COLOUR, results["real"], reference)]
    if "random" in results:
        panels.append(_panel("Random weights, same sizes", "--soft", results["random"], reference))
    add_plot_frame(document, panels, key="real-word", height=HEIGHT, narrow_height=260, columns=2)
    document.caption(
        f"Cosine similarity between the vectors of “{word}” in sentence {reference + 1} and in each other sentence, "
        "after the mean of its vectors in all these sentences was subtracted: what differs between the sentences "
        "remains. Layer 0 is the embedding, where only the positions differ."
    )


def _panel(title: str, colour: str, cosines: Float[ndarray, "depths sentences sentences"], reference: int) -> Panel:
    others = [i for i in range(cosines.shape[-1]) if i != reference]
    lines = [SimilarityLine(f"sentence {i + 1}", np.asarray(cosines[:, reference, i])) for i in others]
    ends = "; ".join(f"{line.name} {line.values[-1]:.2f}" for line in lines)
    return Panel(
        f"real-word-{title}",
        similarity_to_one(lines, colour),
        f"{title}: similarity to sentence {reference + 1} by layer; after the last layer {ends}.",
        title=title,
        colour=colour,
    )
