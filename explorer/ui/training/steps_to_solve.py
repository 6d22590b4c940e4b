"""Loss curves of finished runs, from which the steps to solve a task are computed."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.inspection.steps_to_solve import LossCurves
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView


def finished_loss_curves(views: Mapping[str, RunView]) -> dict[str, LossCurves]:
    """Return the loss curves of the runs that were trained to the end."""
    loss_curves = {}
    for name, view in views.items():
        curves = view.result
        if train_controls.is_finished(view) and curves is not None and len(curves.evaluated):
            loss = curves.metrics["loss"]
            loss_curves[name] = LossCurves(curves.evaluated[: len(loss)].astype(float), loss)
    return loss_curves
