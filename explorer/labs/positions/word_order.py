"""Two sentences of the same words: which untrained models distinguish them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.transformer.positions import order_sensitivity
from explorer.inspection.transformer import positions
from explorer.labs.positions import findings
from explorer.labs.positions.state import PositionsState
from explorer.tokenization.words import split_words
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import show_problems
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.wording import count_seeds

MAX_WORDS = 20
HEIGHT = 420


@dataclass(frozen=True, eq=False)
class OrderComparison:
    """Two sentences, and the distance of their vectors in every kind of model."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    models: list[positions.OrderDistance]


def word_order_section(session: PageSession[PositionsState]) -> None:
    """Draw the fields for both sentences and how far apart the models place them."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "first", st.text_input, width=330)
        bind_widget(session, "second", st.text_input, width=330)
        st.button(
            "Reverse the order",
            icon=":material/swap_horiz:",
            help="Make the second sentence the first one, from its last word to its first.",
            on_click=lambda: session.change(lambda s: replace(s, second=" ".join(reversed(s.first.split())))),
            key="positions.turn",
        )
    typed = [(name, split_words(getattr(state, name))) for name in ("first", "second")]
    show_problems(
        f"The {name} sentence has {len(words)} words; {MAX_WORDS} are read. The rest was left out."
        for name, words in typed
        if len(words) > MAX_WORDS
    )
    first, second = (words[:MAX_WORDS] or split_words(getattr(PositionsState(), name)) for name, words in typed)
    if not all(words for _, words in typed):
        show_problems(["A sentence is empty, so an example is shown in its place: write a few words in both."])
    jobs = {"read": (("positions-order", first, second), partial(_compare, first, second))}
    result_section("positions-order", jobs, partial(_draw), "The models read both sentences …", HEIGHT)


def _compare(first: tuple[str, ...], second: tuple[str, ...]) -> OrderComparison:
    return OrderComparison(first, second, positions.word_order_distances(first, second))


def _draw(document: Document, results: Mapping[str, OrderComparison]) -> None:
    comparison = results["read"]
    document.finding(findings.order_finding(comparison.first, comparison.second, comparison.models))
    rows = [f"{findings.SCHEME_NAMES[one.positions]}{', causal' if one.causal else ''}" for one in comparison.models]
    apart = np.stack([one.sentence_distance for one in comparison.models])
    summary = "; ".join(
        f"{row} {values.min():.2g} to {values.max():.2g}" for row, values in zip(rows, apart, strict=True)
    )
    panel = Panel(
        "order",
        order_sensitivity(rows, [one.causal for one in comparison.models], apart, MODELS["transformer"].colour),
        alt=f"Distance of the two sentence vectors, relative to their length: {summary}.",
    )
    add_plot_frame(document, [panel], key="positions-order-figure", height=330, narrow_height=330, columns=1)
    document.caption(
        "Distance of the two sentence vectors relative to their length, a dot for each of "
        f"{count_seeds(apart.shape[1])}. The models are untrained Transformers with two layers; a sentence vector is "
        "the mean of the outputs. Circles: encoders, where every word attends to every other. Hollow: causal decoders."
    )
    if sorted(comparison.first) == sorted(comparison.second) and comparison.first != comparison.second:
        document.text(findings.causal_mask_finding(comparison.models))
