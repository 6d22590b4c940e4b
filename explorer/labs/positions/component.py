"""The browser component with the pictures of position encodings, and the settings that come back from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.errors import DamagedRun
from explorer.experiments.labelling import VARIANTS
from explorer.inspection.transformer import positions
from explorer.labs.positions.state import POSITION_COUNT, PositionsState, apply_event
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.ui.components.base import pop_event
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.training import run_view
from explorer.web.results import pack, register_arrays

_KEY = "positions"
_HEIGHT = 700


def draw_component(session: PageSession[PositionsState]) -> None:
    """Draw the pictures; their data is described in `labs/positions/components/positions/view.js`. The learned vectors
    follow once they are loaded.
    """
    view = run_view.run_views({"learned": VARIANTS["echo-learned"].config()})["learned"]
    trained = 2 * view.config.task_as(DelayedCopyConfig).longest
    jobs: dict[str, Request[bytes | None]] = {"pictures": (("positions-pictures",), _nothing)}
    if run := view.stored:
        jobs["learned"] = ("positions-learned", *run.cache_key), partial(_pack_learned_vectors, run)

    def requests() -> Mapping[str, Request[bytes | None]]:
        message = pop_event(_KEY, "set")
        if message is not None:
            session.state = apply_event(session.state, message)
            st.rerun()  # the formulas below show the same settings
        return jobs

    draw = partial(_draw, trained, session.state.component_state)
    result_section(
        "positions-pictures",
        requests,
        draw,
        "The learned vectors are loaded …",
        _HEIGHT,
        pool="quick",
        partly=True,
        events={_KEY: ("set",)},
    )


def _nothing() -> None:
    """Return at once: the pictures do not wait for the learned vectors."""


def _draw(
    trained: int, settings: Mapping[str, object], document: Document, results: Mapping[str, bytes | None]
) -> None:
    content = results.get("learned")
    learned = None if content is None else {"address": register_arrays(content), "trained": trained}
    data = {"count": POSITION_COUNT, "learned": learned, "state": settings, "file": "positions"}
    document.component("positions", data, key=_KEY)


def _pack_learned_vectors(run: StoredRun) -> bytes | None:
    """Return the first seed's learned vectors for the browser; None if the run is damaged."""
    try:
        before, after = positions.learned_positions(run)
    except DamagedRun:
        return None
    return pack({"before": before[:POSITION_COUNT], "after": after[:POSITION_COUNT]})
