"""The browser component with the small tables of scaled dot-product attention, and what is set in them."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.labs.scaled_attention.state import MAX_SIZE, MIN_SIZE, ScaledAttentionState, apply_event
from explorer.ui.components.base import event_callbacks, pop_event, register

KEY = "dotproduct"
EVENTS = ("set", "size")
_component = register("dot_product")


def apply_pending_event(state: ScaledAttentionState) -> ScaledAttentionState:
    """Return the state after the visitor's last change in the component."""
    message = pop_event(KEY, "set")
    state = state if message is None else apply_event(state, message)
    size = pop_event(KEY, "size")
    return state.with_token_count(size) if isinstance(size, int) and MIN_SIZE <= size <= MAX_SIZE else state


def draw_component(state: ScaledAttentionState) -> None:
    """Draw the tables that the visitor edits, and every step."""
    _component(data=component_data(state), key=KEY, **event_callbacks(KEY, *EVENTS))


def component_data(state: ScaledAttentionState, model: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return the data of the component, which `labs/scaled_attention/components/dot_product/view.js` describes.

    model: the trained head that the tables are taken from; None for tables that the visitor edits.
    """
    tokens = model["tokens"] if model else state.tokens
    return {"tokens": tokens, "state": state.component_state, "model": model, "file": "scaled-attention"}
