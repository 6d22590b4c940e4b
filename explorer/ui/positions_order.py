"""Two sentences of the same words: which models can tell them apart, before any training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from explorer.figures.positions import order
from explorer.ui import positions_findings as findings
from explorer.ui.components import Panel, frame
from explorer.ui.findings import seeds
from explorer.ui.page import explanation, plain, problems
from explorer.ui.positions import LONGEST, Positions
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import latest
from explorer.ui.tagged import COLOUR

if TYPE_CHECKING:
    from explorer.inspection.positions import Order

MOST_WORDS = 20
HEIGHT = 420


@dataclass(frozen=True, eq=False)
class Read:
    """Two sentences, and what became of them in every kind of model."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    found: list[Order]


def order_section(session: PageSession[Positions]) -> None:
    """The whole section."""
    st.header("Who hit whom? Word order without positions", anchor=False)
    explanation(
        "Write the same words in two orders. Transformers as they start, with two layers and random weights, turn each "
        "sentence into one vector, the mean of their outputs."
    )
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, label in (("first", "One sentence"), ("second", "The same words in another order")):

            def make(s: Positions, text: str, name: str = name) -> Positions:
                written: dict[str, Any] = {name: text}
                return replace(s, **written)

            ties = bound(session, f"positions.{name}", getattr(state, name), make)
            st.text_input(label, max_chars=LONGEST, width=330, **ties)
        st.button(
            "Turn round",
            icon=":material/swap_horiz:",
            help="The second sentence becomes the first one, from its last word to its first.",
            on_click=lambda: session.change(lambda s: replace(s, second=" ".join(reversed(s.first.split())))),
            key="positions.turn",
        )
    said = [(name, getattr(state, name).lower().split()) for name in ("first", "second")]
    problems(
        f"The {name} sentence has {len(words)} words; {MOST_WORDS} are read. The rest was left out."
        for name, words in said
        if len(words) > MOST_WORDS
    )
    first, second = (tuple(words[:MOST_WORDS]) for _, words in said)
    if not first or not second:
        problems(["A sentence is empty: write a few words in both."])
        return
    wanted = {"read": (("positions-order", first, second), partial(_read, first, second))}
    latest("positions-order", lambda: wanted, _show, "The models read both sentences …", HEIGHT)


def _read(first: tuple[str, ...], second: tuple[str, ...]) -> Read:
    from explorer.inspection.positions import word_order

    return Read(first, second, word_order(first, second))


def _show(made: Mapping[str, Read], old: frozenset[str]) -> None:
    read = made["read"]
    st.subheader(plain(findings.order_finding(read.first, read.second, read.found)), anchor=False)
    rows = [findings.model_row(one) for one in read.found]
    apart = np.stack([one.sentence for one in read.found])
    told = "; ".join(f"{row} {values.min():.2g} to {values.max():.2g}" for row, values in zip(rows, apart, strict=True))
    panel = Panel(
        "order",
        order(rows, [one.causal for one in read.found], apart, COLOUR),
        alt=f"How far the two sentences are apart, as a share of their vectors’ length: {told}.",
    )
    frame([panel], key="positions-order-figure", height=330, narrow_height=330, columns=1)
    st.caption(
        f"How far the two sentence vectors stand apart, as a share of their length; a dot for each of "
        f"{seeds(apart.shape[1])}. Circles: encoders, where every word sees every other. Hollow: causal decoders."
    )
    if sorted(read.first) == sorted(read.second) and read.first != read.second:
        explanation(plain(findings.masked_finding(read.found)))
