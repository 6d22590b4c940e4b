"""One word in the visitor's sentences, as a real model and a random network represent it, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.hub.card import ModelCard
from explorer.inspection.pretrained import opened_model
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import MAX_REAL_SENTENCES, MIN_REAL_SENTENCES, SentenceEncoderState

_DASHES = ("solid", "8px,4px", "2px,3px", "12px,4px,2px,4px", "4px,8px", "16px,4px", "12px,3px,2px,3px,2px,3px")


def real_word_section(session: ui.PageSession[SentenceEncoderState], card: ModelCard) -> None:
    """Draw the fields for the sentences and the word, and the similarities."""
    state = session.state
    st.subheader("One word in your sentences", anchor=False)
    sentences = state.real_lines[:MAX_REAL_SENTENCES]
    against = min(state.against, len(sentences))
    with st.container(horizontal=True, vertical_alignment="top"):
        ui.bind_widget(
            session,
            "read",
            st.text_area,
            shown="\n".join(state.real_lines),
            update=SentenceEncoderState.with_real_sentences,
            height=132,
            width=560,
        )
        ui.bind_widget(session, "about", st.text_input, width=240)
        numbers = list(range(1, len(sentences) + 1))
        ui.bind_widget(session, "against", st.selectbox, shown=against, options=numbers, width=190)
    if len(state.real_lines) > MAX_REAL_SENTENCES:
        ui.show_problems([f"The first {MAX_REAL_SENTENCES} sentences are read; leave the others out."])
    if len(sentences) < MIN_REAL_SENTENCES:
        ui.show_problems([f"Type at least {MIN_REAL_SENTENCES} sentences with the word, to compare it in them."])
        return
    word = state.about.strip()
    calls = {
        name: ui.Call(opened_model.word_in_sentences, card, sentences, word, name == "random")
        for name in ("real", "random")
    }
    ui.show_each(
        "real-word",
        calls,
        word_view,
        card.name,
        word,
        against - 1,
        waiting="The sentences are being read …",
        height=450,
        partly=True,
    )


def word_view(
    document: ui.Document,
    results: Mapping[str, Float[ndarray, "depths sentences sentences"]],
    title: str,
    word: str,
    reference: int,
) -> None:
    """Write to which sentence a word is most similar; `reference` is the index of the one that is compared."""
    if "real" not in results:
        return
    document.finding(findings.word_in_sentences_finding(word, reference, results["real"], results.get("random")))
    drawn = {"real": (title, "--m-pretrained"), "random": ("Random weights, same sizes", "--soft")}
    panels = [
        ui.Panel(f"real-word-{title}", word_chart(title, colour, results[name], reference), title=title, colour=colour)
        for name, (title, colour) in drawn.items()
        if name in results
    ]
    document.figures("real-word", panels, height=320, narrow_height=260, columns=2)
    document.caption(
        f"Cosine similarity between the vectors of “{word}” in sentence {reference + 1} and in each other sentence, "
        "after the mean of its vectors in all these sentences was subtracted: what differs between the sentences "
        "remains. Layer 0 is the embedding, where only the positions differ."
    )


def word_chart(
    title: str, colour: str, cosines: Float[ndarray, "depths sentences sentences"], reference: int
) -> charts.LineChart:
    """Return the similarities to a word in one sentence over the layers, a line for each other sentence."""
    depths, count, _ = cosines.shape
    others = [i for i in range(count) if i != reference]
    lines = [
        charts.Line(f"sentence {i + 1}", f"sentence {i + 1}", colour, dash, np.arange(depths), cosines[:, reference, i])
        for i, dash in zip(others, _DASHES, strict=False)
    ]
    every = next(step for step in (1, 2, 5, 10, 20, 50, 100) if depths / step <= 8)
    return charts.LineChart(
        f"{title}: similarity to sentence {reference + 1} by layer",
        lines,
        charts.Axis("layer", (0, depths - 1), ticks=range(0, depths, every)),
        charts.Axis("cosine similarity", (-1.04, 1.04), ticks={-1: "−1", 0: "0", 1: "1"}),
        margin=110,
        digits=None,
    )
