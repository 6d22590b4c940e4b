"""The browser component with the pictures of position encodings, and the settings that come back from it."""

from __future__ import annotations

from collections.abc import Mapping

from explorer import ui
from explorer.errors import DamagedRun
from explorer.experiments.labelling import VARIANTS
from explorer.inspection.transformer import positions
from explorer.labs.positions.state import POSITION_COUNT, PositionsState
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.ui.training import run_view
from explorer.web.results import pack, register_arrays

_KEY = "positions"


def draw_component(session: ui.PageSession[PositionsState]) -> None:
    """Draw the pictures; their data is described in `labs/positions/components/positions/view.js`. The learned vectors
    follow once they are loaded.
    """
    view = run_view.run_views({"learned": VARIANTS["echo-learned"].config()})["learned"]
    trained = 2 * view.config.task_as(DelayedCopyConfig).longest
    calls: dict[str, ui.Call[bytes | None]] = {"pictures": ui.Call(_pack_nothing)}
    if run := view.stored:
        calls["learned"] = ui.Call(_pack_learned_vectors, run)

    ui.show_each(
        "positions-pictures",
        calls,
        pictures_view,
        trained,
        session.state.component_state,
        waiting="The learned vectors are loaded …",
        height=700,
        pool="quick",
        partly=True,
        events={_KEY: ("set",)},
        on_event=lambda: ui.apply_component_event(session, _KEY),  # the formulas below show the same settings
    )


def _pack_nothing() -> None:
    """Return at once: the pictures do not wait for the learned vectors."""


def pictures_view(
    document: ui.Document, results: Mapping[str, bytes | None], trained: int, settings: Mapping[str, object]
) -> None:
    """Write the pictures, with the learned vectors as soon as they are loaded; the first `trained` are trained."""
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
