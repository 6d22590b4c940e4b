"""The frame that draws plotly figures in the browser, side by side, with live updates and playback."""

from __future__ import annotations

import math
from collections.abc import Mapping

from explorer.ui.components.base import event_callbacks, pop_event, register

_frame = register("plot_frame")


def mount_frame(data: Mapping[str, object], key: str) -> None:
    """Mount the component with the data that `frame_data` returns."""
    _frame(data=data, key=key, **event_callbacks(key, "target", "stop", "pick"))


def pop_target(key: str) -> float | None:
    """Return the value to which the visitor has just dragged the target of a frame; None without a new one."""
    event = pop_event(key, "target")
    return float(event) if isinstance(event, int | float) and math.isfinite(event) else None


def pop_pick(key: str) -> tuple[str, int, int] | None:
    """Return the panel and the whole numbers x and y of the point that the visitor has just clicked; None without."""
    event = pop_event(key, "pick")
    if not isinstance(event, dict):
        return None
    figure, x, y = (event.get(name) for name in ("figure", "x", "y"))
    return (figure, x, y) if isinstance(figure, str) and type(x) is int and type(y) is int else None
