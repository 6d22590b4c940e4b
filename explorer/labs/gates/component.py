"""The browser component with the two cells: the data that it draws, and the settings that come back from it."""

from __future__ import annotations

from dataclasses import asdict, replace

from explorer.labs.gates.state import PRESETS, GatesState, apply_event
from explorer.ui.components.base import event_callbacks, pop_event, register

_KEY = "cell"
_component = register("gates_by_hand")


def apply_pending_event(state: GatesState) -> GatesState:
    """Return the state after the visitor's last change in the component."""
    message = pop_event(_KEY, "set")
    return state if message is None else apply_event(state, message)


def _component_state(state: GatesState) -> dict[str, object]:
    """Return the state as the component takes it: the traces by gate, and the other fields."""
    own = {name: value for name, value in asdict(state).items() if name not in state.traces}
    return {"lanes": state.traces, **own}


def draw_component(state: GatesState) -> None:
    """Draw both cells; the data is described in `labs/gates/components/gates_by_hand/view.js`."""
    data = {
        **_component_state(state),
        "usual": _component_state(replace(GatesState(), show=state.show)),
        "presets": [{"name": each.name, "lanes": dict(each.traces), "at": each.at} for each in PRESETS],
        "file": "gates-by-hand",
    }
    _component(data=data, key=_KEY, **event_callbacks(_KEY, "set"))
