"""Q, K and V of a head of a trained model, for the tables of the page on scaled dot-product attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.catalogue import SENTENCES
from explorer.errors import LineageError
from explorer.ui import address, at_hand, attention_views
from explorer.ui.at_hand import AtHand
from explorer.ui.gaze import LONGEST
from explorer.ui.page import empty_panel, plain, problems
from explorer.ui.scaled import Scaled, instrument
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import latest

TOKENS = 12  # of a text that the tables have room for
HEIGHT = 900


@dataclass(frozen=True, eq=False)
class Taken:
    """A head at work, as the instrument takes it."""

    head: Mapping[str, object]
    cut: int  # how many tokens of the text were left out


@dataclass(frozen=True)
class Reader:
    """A model that can be looked into, or why there is none."""

    hand: AtHand | None
    layers: int = 1
    heads: int = 1
    refused: str = ""


def reader(session: PageSession[Scaled]) -> Reader:
    """Who reads; a head that it does not have is said, and the first one taken."""
    state = session.state
    try:
        hand = at_hand.find(state.model)
        layers, heads = attention_views.size(hand)
    except LineageError as error:
        return Reader(None, refused=str(error))
    if state.layer >= layers or state.head >= heads:
        session.problems += (
            f"This model has layers 0 to {layers - 1} and heads 0 to {heads - 1}; there is no head {state.head} in "
            f"layer {state.layer}. The first one is shown.",
        )
        session.state = replace(state, layer=0, head=0)
    return Reader(hand, layers, heads)


def model_part(session: PageSession[Scaled], who: Reader) -> None:
    """Who reads what, and the tables of the chosen head."""
    _choices(session, who)
    state, hand = session.state, who.hand
    if hand is None:
        problems([who.refused])
        empty_panel("Choose a model with attention above.", HEIGHT)
        return

    def draw(found: Mapping[str, Taken], old: frozenset[str]) -> None:
        for one in found.values():
            instrument(session.state, one.head)
            if one.cut:
                st.caption(
                    f"The tables hold {TOKENS} tokens: the model reads these, and {one.cut:,} more are left out."
                )

    key = ("scaled-model", *hand.stamp, attention_views.text_of(hand, state.gaze), state.layer, state.head)
    wanted = {hand.name: (key, partial(taken, hand, state))}
    latest("scaled-model", lambda: wanted, draw, "The model is reading …", HEIGHT, pool="quick")


def taken(hand: AtHand, state: Scaled) -> Taken:
    """The numbers of a head over the first tokens of a text, as the model computed them. Raises LineageError."""
    from explorer.inspection.attention import read
    from explorer.inspection.lens import inside

    text = read(hand.config, hand.tokenizer, attention_views.text_of(hand, state.gaze))
    ids = text.ids[:TOKENS]
    one = inside(hand.model(), ids, state.layer, state.head)
    said = " ".join(map(str, ids))
    head = {
        "name": f"{hand.stamp} {state.layer} {state.head} {said}",
        "title": f"layer {state.layer}, head {state.head} of {hand.title}",
        "tokens": [
            token if token.strip() else token.replace(" ", "␣").replace("\n", "↵") for token in text.tokens[:TOKENS]
        ],
        "q": _rows(one.queries),
        "k": _rows(one.keys),
        "v": _rows(one.values),
        "weights": _rows(one.weights),
        "hidden": np.isneginf(one.mask).tolist(),
    }
    return Taken(head, len(text.ids) - len(ids))


def _rows(values: ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(v) for v in row] for row in values]


def _choices(session: PageSession[Scaled], who: Reader) -> None:
    state, hand = session.state, who.hand
    titles = at_hand.offered(SENTENCES, ("transformer",))
    titles = {**({} if state.model in titles else {state.model: state.model}), **titles}
    usual = attention_views.examples(hand) if hand else ()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "scaled.model", state.model, lambda s, name: s.of_model(name or s.model, usual))
        st.selectbox("Model", list(titles), format_func=titles.__getitem__, width=250, **ties)
        if hand:
            said = attention_views.text_of(hand, state.gaze)
            ties = bound(session, "scaled.say", said, lambda s, text: replace(s, say=text, at=""))
            st.text_input("What it reads", width=280, max_chars=LONGEST, **ties)
        ties = bound(session, "scaled.layer", min(state.layer, who.layers - 1), lambda s, new: replace(s, layer=new))
        st.selectbox("Layer", list(range(who.layers)), width=90, **ties)
        ties = bound(session, "scaled.head", min(state.head, who.heads - 1), lambda s, new: replace(s, head=new))
        st.selectbox("Head", list(range(who.heads)), width=90, **ties)
        st.page_link(
            "attention.py",
            label=plain("All heads of this model"),
            icon=":material/arrow_forward:",
            query_params=address.write(state.gaze),
        )
