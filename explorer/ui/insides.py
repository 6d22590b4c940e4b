"""Panels that look inside a model: how it came to its answer, and what it has learned about words."""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures import insides
from explorer.figures.style import signed
from explorer.tasks.negation import CLASSES
from explorer.training.store import StoredRun
from explorer.ui import findings, runs
from explorer.ui.components import Panel
from explorer.ui.negation_lab import NegationLab
from explorer.ui.runs import Lane


def inside_panels(lab: NegationLab, model: str, lane: Lane, words: tuple[str, ...]) -> list[Panel]:
    """The panel of one model; the feedforward net has none, its window shows nothing word by word."""
    if lane.stored is None:
        return []
    window = lab.value("window", "transformer") if model == "transformer" else 0
    return _inside(lane.stored.stamp, model, words, lab.look, lab.layer, lab.head, window, lane.stored)


@st.cache_resource(max_entries=1024, show_spinner=False)
def _inside(
    stamp: tuple[str, str],
    model: str,
    words: tuple[str, ...],
    look: int,
    layer: int,
    head: int,
    window: int,
    _run: StoredRun,
) -> list[Panel]:
    row = MODELS[model]
    if model == "bag_of_words":
        view = runs.contributions(_run, words, look)
        finding = findings.sum_finding(view.tokens, view.values)
        return [
            Panel(
                "sum-of-words",
                insides.sum_of_words(view.tokens, view.values, view.bias),
                alt=f"Bag of words: every token's contribution to sustain, together {view.total:+.2f}. {finding}",
                title="Bag of words adds up its words",
                caption=f"{finding} Right is sustain, left is collapse.",
                token_axis="y",
                token_offset=1,
                token_count=len(view.tokens),
            )
        ]
    if model in ("rnn", "lstm", "gru"):
        read = runs.reading(_run, words, look)
        finding = findings.reading_finding(read.tokens, read.sustain)
        return [
            Panel(
                f"reading-{model}",
                insides.answers_on_the_way(read.tokens, read.sustain, row.colour, CLASSES),
                alt=f"{row.title}: probability of sustain after each word. {finding}",
                title=f"The {row.title} answers after each word",
                caption=finding,
                token_axis="x",
                token_count=len(read.tokens),
            )
        ]
    if model == "transformer":
        seen = runs.attention(_run, words, look, window)
        layer, head = min(layer, len(seen.weights) - 1), min(head, seen.weights.shape[1] - 1)
        weights = seen.weights[layer, head]
        finding = findings.attention_finding(seen.tokens, weights, layer, len(seen.weights))
        masked = " Empty: masked padding." if np.isnan(weights).any() else ""
        return [
            Panel(
                "attention",
                insides.attention_map(weights, seen.tokens),
                alt=f"Transformer: attention weights, rows ask and columns answer. {finding}",
                title="The Transformer looks at pairs",
                caption=f"Rows ask, columns answer. {finding}{masked}",
                token_axis="xy",
                token_count=len(seen.tokens),
            )
        ]
    return []


def look_panel(model: str, lane: Lane, look: int) -> Panel:
    """The weights of the counts, or the embeddings of any other model, of one trained seed."""
    if lane.stored is None:
        raise ValueError(f"{model} has no stored run to look into")
    return _look(lane.stored.stamp, model, look, lane.stored)


@st.cache_resource(max_entries=256, show_spinner=False)
def _look(stamp: tuple[str, str], model: str, look: int, _run: StoredRun) -> Panel:
    if model == "bag_of_words":
        view = runs.word_weights(_run, look)
        gaps = zip(view.tokens, view.weights[1] - view.weights[0], strict=True)
        said = ", ".join(f"{token} {signed(float(gap))}" for token, gap in gaps)
        return Panel(
            "word-weights",
            insides.word_weights(view.tokens, view.weights, CLASSES),
            alt=f"Bag of words: by how much each token’s weight for sustain is above that for collapse: {said}.",
            title="Bag of words: weights",
            caption="Brown is collapse, teal is sustain. Words that stand in every sentence act as a bias.",
        )
    plane, row = runs.embedding_map(_run, look), MODELS[model]
    return Panel(
        f"embeddings-{model}",
        insides.embedding_map(plane.tokens, plane.points, row.colour),
        alt=f"{row.title}: word embeddings in two dimensions, {plane.share:.0%} of their spread.",
        title=f"{row.title}: embeddings",
        caption=f"This plane holds {plane.share:.0%} of their spread.",
    )
