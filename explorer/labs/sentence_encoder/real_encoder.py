"""How a real encoder represents words with several senses: in sentences of two senses each, and in the visitor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.hub.card import ModelCard
from explorer.inspection.compare import median_and_range
from explorer.inspection.pretrained import coreference, opened_model, senses
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import MAX_REAL_SENTENCES, MIN_REAL_SENTENCES, SentenceEncoderState

Result: TypeAlias = Union["senses.SenseNeighbours", "coreference.Coreference"]
_RANDOM = 4  # networks


def real_senses_section(session: ui.PageSession[SentenceEncoderState]) -> None:
    """Draw the choice of an opened encoder, and how it orders the senses of words by depth."""
    ui.explanation(
        "English words such as “bank”, “bat” and “spring”, in six sentences of each of two senses. For each occurrence "
        "of a word, the most similar other occurrence is found (cosine similarity), after each layer. The control are "
        "networks with the same layers and random weights."
    )
    card = ui.choose_real_model(session, "encoder")
    if card is None:
        return
    calls: dict[str, ui.Call[Result]] = {
        "real": ui.Call(opened_model.neighbours_by_sense, card),
        "it": ui.Call(opened_model.meaning_of_it, card),
        **{f"random {seed}": ui.Call(opened_model.neighbours_by_sense, card, seed) for seed in range(_RANDOM)},
    }
    waiting = "The sentences are read by the encoder and by random networks …"
    ui.show_each("real-senses", calls, senses_view, waiting=waiting, height=420, pool="patient", partly=True)
    real_word_section(session, card)


def senses_view(document: ui.Document, results: Mapping[str, Result]) -> None:
    """Write how often the nearest occurrence of a word has the same sense, and whether a head finds what “it” means."""
    real, it = results.get("real"), results.get("it")
    if not isinstance(real, senses.SenseNeighbours):
        return
    estimates = real.by_depth()
    random = [each for name, each in results.items() if name != "real" and isinstance(each, senses.SenseNeighbours)]
    document.finding(findings.real_senses_finding(estimates))
    document.figures("real-senses", [ui.Panel("real-senses", senses_chart(real, random))], height=320, columns=1)
    words = ", ".join(f"{word} {share:.2f}" for word, share in real.by_word(len(estimates) - 1).items())
    document.caption(
        f"Share of {real.same.shape[1]} occurrences whose nearest occurrence has the same sense. Band of this encoder: "
        f"95 % intervals (Wilson); of random weights: lowest to highest of {len(random)} networks. Dashed: chance, "
        f"{real.chance:.2f}. After the last layer, by word: {words}."
    )
    if isinstance(it, coreference.Coreference):
        by_chance = it.best_by_chance()
        document.text(
            findings.coreference_text(
                len(it.preference), it.preference[0, 0].size, it.best_share(), float(by_chance.mean()), it.p()
            )
        )


def senses_chart(real: senses.SenseNeighbours, random: Sequence[senses.SenseNeighbours]) -> charts.LineChart:
    """Return the share of nearest occurrences with the same sense by depth, of a real encoder and random networks."""
    estimates = np.array([(each.value, each.low, each.high) for each in real.by_depth()])
    depths = np.arange(len(estimates))
    lines = [charts.Line("this encoder", "this encoder", "--m-pretrained", "solid", depths, estimates, "filled")]
    if random:
        shares = median_and_range(np.stack([each.same.mean(axis=1) for each in random], axis=1))
        lines.append(charts.Line("random weights", "random weights", "--soft", "4px,4px", depths, shares, "filled"))
    return charts.LineChart(
        "Share of nearest occurrences with the same sense by depth",
        lines,
        charts.Axis("layers that were computed", (-0.2, len(depths) - 0.7), ticks=8),
        charts.Axis("share with the same sense", (0, 1.04)),
        [charts.level(real.chance)],
        margin=112,
        digits=None,
    )


# ---- one word in the visitor's sentences


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
