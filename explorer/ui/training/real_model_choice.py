"""The choice of an opened real model in a section of a page."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.hub.card import ModelCard
from explorer.hub.opened import PREFIX
from explorer.hub.suitable import Need, how_to_get, suitable_models
from explorer.number_format import format_count
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget


def choose_real_model(session: PageSession[Any], need: Need) -> ModelCard | None:
    """Draw the choice of an opened model, by the field `real` of the state; without one, draw how to get one.

    Returns the card of the chosen model, or None.
    """
    cards = {f"{PREFIX}{card.name}": card for card in suitable_models(need)}
    if not cards:
        explanation(escape_markdown(how_to_get(need)))
        return None
    chosen, first = session.state.real, next(iter(cards))
    if chosen and chosen not in cards:
        show_problems([f"No real {need} “{chosen}” is open on this machine; another one is shown."])
    card = cards.get(chosen, cards[first])
    name = f"{PREFIX}{card.name}"
    if len(cards) > 1:
        titles = {each: other.name for each, other in cards.items()}
        bind_widget(session, "real", st.selectbox, shown=name, options=titles, width=320)
    st.caption(escape_markdown(f"{card.name}, not trained here: {describe_card(card)}."))
    return card


def describe_card(card: ModelCard) -> str:
    """Return the size and the precision of a model in a few words."""
    return f"{card.layers} layers of {card.heads} heads, {format_count(card.parameters)} parameters, {card.precision}"


def card_key(card: ModelCard) -> tuple[str, str]:
    """Return what identifies the weights of a model in the key of a result."""
    return card.name, card.fingerprint
