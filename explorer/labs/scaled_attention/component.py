"""The browser component with the small tables of scaled dot-product attention, and what is set in them."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.labs.scaled_attention.state import MAX_SIZE, MIN_SIZE, ScaledAttentionState, apply_event
from explorer.ui.components.base import event_callbacks, pop_event, register

_KEY = "dotproduct"
_component = register("dot_product")


def apply_pending_event(state: ScaledAttentionState) -> ScaledAttentionState:
    """Return the state after the visitor's last change in the component."""
    message = pop_event(_KEY, "set")
    state = state if message is None else apply_event(state, message)
    size = pop_event(_KEY, "size")
    return state.with_token_count(size) if isinstance(size, int) and MIN_SIZE <= size <= MAX_SIZE else state


def draw_component(state: ScaledAttentionState, model: Mapping[str, object] | None = None) -> None:
    """Draw the tables and every step; the data is described in `static/components/dot_product/view.js`.

    model: the trained head that the tables are taken from; None for tables that the visitor edits.
    """
    tokens = model["tokens"] if model else state.tokens
    data = {"tokens": tokens, "state": state.component_state, "model": model, "file": "scaled-attention"}
    _component(data=data, key=_KEY, **event_callbacks(_KEY, "set", "size"))
