"""The internals of the models: how each computes its answer, and what it has learned about the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures import model_internals
from explorer.labs.negation import findings, predictions
from explorer.labs.negation.session import NegationSession
from explorer.number_format import format_signed
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import CLASSES
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import untrained_panel
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView

_COLUMNS = 3  # panels side by side
_INITIALIZATIONS = {0.1: "small", 1.0: "usual"}
_INITIALIZATION_HELP = (
    "How far from zero the embeddings start: standard deviation 0.1, or PyTorch's usual 1. From the usual start "
    "attention becomes sharp, but some seeds never learn the task; see the race."
)


def internals_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw how one seed of each model computes its answer."""
    count = session.experiment.value("replicas")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header("How each came to its answer", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="top"):
            first = session.experiment.value("seed")
            seeds = {i: f"seed {first + i}, one of {count}" for i in range(count)}
            bind_widget(session, "look", st.selectbox, label="Seed", options=seeds, width=170)
            if "transformer" in views:
                value = session.experiment.value("start", "transformer")
                bind_widget(
                    session,
                    "start",
                    st.segmented_control,
                    shown=value if value in _INITIALIZATIONS else None,
                    update=lambda lab, start: lab.with_own("transformer", start=start),
                    label="Transformer's start",
                    options=_INITIALIZATIONS,
                    help=_INITIALIZATION_HELP,
                )
                _index_choice(session, "layer", "Layer", session.experiment.value("layers", "transformer"))
                _index_choice(session, "head", "Head", session.experiment.value("heads", "transformer"))

    trained = {model: view.stored for model, view in views.items() if view.stored}
    if not trained:
        untrained_panel(views, "Train the models to see inside them.", 120)
        return

    def requests() -> dict[str, Request[list[Panel]]]:
        lab, words = session.experiment, session.words
        return {
            model: (
                ("insides", words, lab.look, lab.layer, lab.head, *run.cache_key),
                partial(_sentence_panels, model, words, lab.look, lab.layer, lab.head, run),
            )
            for model, run in trained.items()
        }

    rows = -(-len(trained.keys() - {"feedforward"}) // _COLUMNS)
    height = max(rows, 1) * 400
    result_section(
        "insides", requests, partial(_draw_internals), "The models read the sentence …", height, pool="quick"
    )


def _draw_internals(document: Document, results: Mapping[str, list[Panel]]) -> None:
    if panels := [panel for each in results.values() for panel in each]:
        add_plot_frame(document, panels, key="negation-insides", height=320, narrow_height=300, columns=_COLUMNS)
    else:
        document.empty("The feedforward model has no picture of how it comes to an answer.", 120)


def _index_choice(session: NegationSession, name: str, label: str, count: int) -> None:
    """Draw the choice of a layer or a head of the attention map, where there are several."""
    if count > 1:
        bind_widget(
            session,
            name,
            st.selectbox,
            label=label,
            options={i: f"{i + 1} of {count}" for i in range(count)},
            width=110,
        )


def _sentence_panels(
    model: str, words: tuple[str, ...], look: int, layer: int, head: int, run: StoredRun
) -> list[Panel]:
    """Return the panel of one model for a sentence; the feedforward model has none."""
    row = MODELS[model]
    if model == "bag_of_words":
        view = predictions.contributions(run, words, look)
        finding, total = findings.contributions_finding(view.parts, view.values), format_signed(view.total)
        return [
            Panel(
                "sum-of-words",
                model_internals.word_contributions(view.parts, view.values, view.bias),
                alt=f"Bag of words: every token's contribution to sustain, together {total}. {finding}",
                title="Bag of words adds up its words",
                caption=f"{finding} Right is sustain, left is collapse.",
                token_axis="y",
                token_offset=1,
                token_count=len(view.parts),
            )
        ]
    if model == "bag_of_bigrams":
        view = predictions.contributions(run, words, look)
        finding, total = findings.pairs_finding(view.parts, view.values), format_signed(view.total)
        return [
            Panel(
                "sum-of-pairs",
                model_internals.word_contributions(view.parts, view.values, view.bias),
                alt=f"Bag of bigrams: every pair's contribution to sustain, together {total}. {finding}",
                title="Bag of bigrams adds up its pairs",
                caption=f"{finding} Right is sustain, left is collapse.",
            )
        ]
    if model == "bag_of_words_hidden":
        view = predictions.contributions(run, words, look)
        parts, values = _strongest(view.parts, view.values)
        finding, total = findings.units_finding(view.parts, view.values), format_signed(view.total)
        return [
            Panel(
                "sum-of-units",
                model_internals.word_contributions(parts, values, view.bias),
                alt=f"Bag of words with a hidden layer: every hidden unit's contribution to sustain, together {total}. "
                f"{finding}",
                title="The hidden layer adds up its units",
                caption=f"{finding} Right is sustain, left is collapse.",
            )
        ]
    if model in ("rnn", "lstm", "gru"):
        reading = predictions.reading(run, words, look)
        finding = findings.reading_finding(reading.tokens, reading.sustain)
        return [
            Panel(
                f"reading-{model}",
                model_internals.answer_after_each_token(reading.tokens, reading.sustain, row.colour, CLASSES),
                alt=f"{row.title}: probability of sustain after each word. {finding}",
                title=f"The {row.title} answers after each word",
                caption=finding,
                token_axis="x",
                token_count=len(reading.tokens),
            )
        ]
    if model == "transformer":
        window = getattr(run.config.model, "window", 0)
        attention = predictions.attention(run, words, look, window)
        layer, head = min(layer, len(attention.weights) - 1), min(head, attention.weights.shape[1] - 1)
        weights = attention.weights[layer, head]
        finding = findings.attention_finding(attention.tokens, weights, layer, len(attention.weights))
        masked = " Empty: masked padding." if np.isnan(weights).any() else ""
        return [
            Panel(
                "attention",
                model_internals.attention_map(weights, attention.tokens),
                alt=f"Transformer: attention weights, rows ask and columns answer. {finding}",
                title="The Transformer looks at pairs",
                caption=f"Rows ask, columns answer. {finding}{masked}",
                token_axis="xy",
                token_count=len(attention.tokens),
            )
        ]
    return []


def _strongest(
    parts: Sequence[str], values: Float[ndarray, " parts"], most: int = 8
) -> tuple[Sequence[str], Float[ndarray, " _"]]:
    """Return at most so many parts, those that add most, and the sum of all others as one more part."""
    if len(parts) <= most:
        return parts, values
    order = np.argsort(-np.abs(values), kind="stable")
    kept, others = np.sort(order[:most]), order[most:]
    return (*(parts[i] for i in kept), f"{len(others)} others"), np.append(values[kept], values[others].sum())


def _weights_panel(model: str, look: int, run: StoredRun) -> Panel:
    """Return the weights of a bag of words or bigrams, or the embeddings of another model, for one seed."""
    if model in ("bag_of_words", "bag_of_bigrams"):
        view, title = predictions.word_weights(run, look), MODELS[model].title
        gaps = zip(view.tokens, view.weights[1] - view.weights[0], strict=True)
        numbers = ", ".join(f"{token} {format_signed(float(gap))}" for token, gap in gaps)
        return Panel(
            "word-weights" if model == "bag_of_words" else "pair-weights",
            model_internals.word_weights(view.tokens, view.weights, CLASSES),
            alt=f"{title}: by how much each weight for sustain is above that for collapse: {numbers}.",
            title=f"{title}: weights",
            caption="Brown is collapse, teal is sustain. "
            + (
                "Words that stand in every sentence act as a bias."
                if model == "bag_of_words"
                else "Of the pairs of the grammar, those that differ between its sentences."
            ),
        )
    plane, row = predictions.embedding_map(run, look), MODELS[model]
    return Panel(
        f"embeddings-{model}",
        model_internals.embedding_map(plane.tokens, plane.points, row.colour),
        alt=f"{row.title}: word embeddings in two dimensions, {plane.share:.0%} of their spread.",
        title=f"{row.title}: embeddings",
        caption=f"This plane holds {plane.share:.0%} of their spread.",
    )


def learned_weights_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw the weights of the linear readouts and the embeddings of the other models."""
    st.header("Look inside", anchor=False)
    look = session.experiment.look
    requests = {
        model: (("look", look, *view.cache_key), partial(_weights_panel, model, look, view.stored))
        for model, view in views.items()
        if view.stored
    }
    if requests:
        result_section("look", requests, partial(_draw_weights), "The weights are loaded …", 340, pool="quick")
    else:
        untrained_panel(views, "Train the models to look inside them.", 120)


def _draw_weights(document: Document, results: Mapping[str, Panel]) -> None:
    add_plot_frame(document, list(results.values()), key="negation-look", height=300, columns=4)
