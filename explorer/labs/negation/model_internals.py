"""The internals of the models: how each computes its answer, and what it has learned about the words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures import model_internals
from explorer.figures.style import format_signed
from explorer.labs.negation import findings, predictions
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import NegationLab
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import CLASSES
from explorer.ui.components.plot_frame import Panel, draw_plot_frame
from explorer.ui.page_sections import empty_panel
from explorer.ui.state.session import bind_widget, fragment
from explorer.ui.training.run_view import RunView

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
            seeds = list(range(count))
            first = session.experiment.value("seed")
            ties = bind_widget(session, "look", session.experiment.look, lambda lab, i: lab.with_view_fields(look=i))
            st.selectbox("Seed", seeds, format_func=lambda i: f"seed {first + i}, one of {count}", width=170, **ties)
            if "transformer" in views:
                value = session.experiment.value("start", "transformer")
                selected = value if value in _INITIALIZATIONS else None
                ties = bind_widget(
                    session, "start", selected, lambda lab, v: lab.with_own("transformer", start=v) if v else lab
                )
                st.segmented_control(
                    "Transformer's start",
                    list(_INITIALIZATIONS),
                    format_func=_INITIALIZATIONS.__getitem__,
                    help=_INITIALIZATION_HELP,
                    **ties,
                )
                _index_choice(session, "layer", "Layer", session.experiment.value("layers", "transformer"))
                _index_choice(session, "head", "Head", session.experiment.value("heads", "transformer"))

    def draw() -> None:
        panels = [
            panel
            for model, view in views.items()
            for panel in sentence_panels(session.experiment, model, view, session.words)
        ]
        if panels:
            draw_plot_frame(panels, key="negation-insides", height=320, narrow_height=300, columns=3)
        else:
            empty_panel("Train the models to see inside them.", 120)

    fragment(session, "insides", draw)


def _index_choice(session: NegationSession, name: str, label: str, count: int) -> None:
    """Draw the choice of a layer or a head of the attention map, where there are several."""
    if count > 1:
        ties = bind_widget(
            session, name, getattr(session.experiment, name), lambda lab, i: lab.with_view_fields(**{name: i})
        )
        st.selectbox(label, range(count), format_func=lambda i: f"{i + 1} of {count}", width=110, **ties)


def sentence_panels(lab: NegationLab, model: str, view: RunView, words: tuple[str, ...]) -> list[Panel]:
    """Return the panel of one model for a sentence; the feedforward model has none."""
    if view.stored is None:
        return []
    window = lab.value("window", "transformer") if model == "transformer" else 0
    return _sentence_panels(view.stored.cache_key, model, words, lab.look, lab.layer, lab.head, window, view.stored)


@st.cache_resource(max_entries=1024, show_spinner=False)
def _sentence_panels(
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
        view = predictions.contributions(_run, words, look)
        finding = findings.contributions_finding(view.tokens, view.values)
        return [
            Panel(
                "sum-of-words",
                model_internals.word_contributions(view.tokens, view.values, view.bias),
                alt=f"Bag of words: every token's contribution to sustain, together {view.total:+.2f}. {finding}",
                title="Bag of words adds up its words",
                caption=f"{finding} Right is sustain, left is collapse.",
                token_axis="y",
                token_offset=1,
                token_count=len(view.tokens),
            )
        ]
    if model in ("rnn", "lstm", "gru"):
        reading = predictions.reading(_run, words, look)
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
        attention = predictions.attention(_run, words, look, window)
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


def weights_panel(model: str, view: RunView, look: int) -> Panel:
    """Return the word weights of a bag of words, or the embeddings of another model, for one seed.

    Raises ValueError if the model has no stored run.
    """
    if view.stored is None:
        raise ValueError(f"{model} has no stored run")
    return _weights_panel(view.stored.cache_key, model, look, view.stored)


@st.cache_resource(max_entries=256, show_spinner=False)
def _weights_panel(stamp: tuple[str, str], model: str, look: int, _run: StoredRun) -> Panel:
    if model == "bag_of_words":
        view = predictions.word_weights(_run, look)
        gaps = zip(view.tokens, view.weights[1] - view.weights[0], strict=True)
        numbers = ", ".join(f"{token} {format_signed(float(gap))}" for token, gap in gaps)
        return Panel(
            "word-weights",
            model_internals.word_weights(view.tokens, view.weights, CLASSES),
            alt=f"Bag of words: by how much each token’s weight for sustain is above that for collapse: {numbers}.",
            title="Bag of words: weights",
            caption="Brown is collapse, teal is sustain. Words that stand in every sentence act as a bias.",
        )
    plane, row = predictions.embedding_map(_run, look), MODELS[model]
    return Panel(
        f"embeddings-{model}",
        model_internals.embedding_map(plane.tokens, plane.points, row.colour),
        alt=f"{row.title}: word embeddings in two dimensions, {plane.share:.0%} of their spread.",
        title=f"{row.title}: embeddings",
        caption=f"This plane holds {plane.share:.0%} of their spread.",
    )


def learned_weights_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw the weights of the bag of words and the embeddings of the other models."""
    st.header("Look inside", anchor=False)
    panels = [weights_panel(model, view, session.experiment.look) for model, view in views.items() if view.stored]
    if panels:
        draw_plot_frame(panels, key="negation-look", height=300, columns=4)
    else:
        empty_panel("Train the models to look inside them.", 120)
