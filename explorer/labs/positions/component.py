"""The browser component with the pictures of position encodings, and the settings that come back from it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.errors import DamagedRun
from explorer.experiments.labelling import VARIANTS
from explorer.labs.positions.state import POSITION_COUNT, PositionsState, apply_event
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.deferred_sections import result_or_placeholder
from explorer.ui.training import run_view
from explorer.ui.training.run_view import RunView
from explorer.web import array_store

_KEY = "positions"
_component = register("positions")


def apply_pending_event(state: PositionsState) -> PositionsState:
    """Return the state after the visitor's last change in the component."""
    message = pop_event(_KEY, "set")
    return state if message is None else apply_event(state, message)


def draw_component(state: PositionsState) -> None:
    """Draw the pictures; their data is described in `static/components/positions/view.js`. The learned vectors follow
    once they are loaded.
    """
    place = st.container()
    view = run_view.run_views({"learned": VARIANTS["echo-learned"].config()})["learned"]
    data = {
        "count": POSITION_COUNT,
        "learned": _learned_vectors(view),
        "state": state.component_state,
        "file": "positions",
    }
    with place:
        _component(data=data, key=_KEY, **event_callbacks(_KEY, "set"))


def _learned_vectors(view: RunView) -> dict[str, object] | None:
    """Return the address of the first seed's learned vectors; None without the included run, or until it is loaded."""
    run = view.stored
    if run is None:
        return None
    meanwhile = "The learned vectors are opened …"
    try:
        content = result_or_placeholder(
            "positions-learned",
            ("positions-learned", *run.cache_key),
            partial(_pack_learned_vectors, run),
            meanwhile,
            60,
        )
    except DamagedRun:
        return None
    if content is None:
        return None
    return {
        "address": array_store.register_array(content),
        "trained": 2 * view.config.task_as(DelayedCopyConfig).longest,
    }


def _pack_learned_vectors(run: StoredRun) -> bytes:
    from explorer.inspection.transformer.positions import learned_positions

    before, after = learned_positions(run)
    return array_store.pack({"before": before[:POSITION_COUNT], "after": after[:POSITION_COUNT]})
