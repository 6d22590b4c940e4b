"""The playback of trainings whose axis is the optimizer step."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.ui.components.plot_frame import Playback
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView


def last_step(views: Mapping[str, RunView]) -> int:
    """Return the last step of the longest run."""
    return max(view.config.steps for view in views.values())


def playback(views: Mapping[str, RunView], train_count: int, name: str, step_size: float | None = None) -> Playback:
    """Return a playback over all steps, in about fifty increments; see `train_controls.playback`."""
    last = last_step(views)
    reached = max((view.curves.step for view in views.values() if view.curves), default=0)
    return train_controls.playback(
        views, train_count, name, last, reached, unit="step", step=step_size or float(max(last // 50, 1))
    )
