"""What is not trained yet and what training costs."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.jobs.cost import estimate_cost
from explorer.jobs.limits import largest_value
from explorer.labs.text.state import TextLab
from explorer.number_format import format_duration
from explorer.ui import visitor_text
from explorer.ui.state.session import ExperimentSession
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest

_QUICK = 30.0  # seconds: what a quick run takes at most, by the estimate


def offer_training(session: ExperimentSession[TextLab], views: Mapping[str, RunView]) -> None:
    """Draw which models are missing and what their training costs; offer a quick run where that is much."""
    untrained = [view for view in views.values() if not train_controls.is_finished(view)]
    live = any(view.live for view in untrained)
    request, configs = TrainRequest.for_section(session.experiment.TASK), session.experiment.configs
    request.offers_missing = bool(untrained)
    if untrained and not live and not text_is_available(session.experiment):
        return
    train_controls.draw_missing_runs(request, configs, keys=("train-missing", "stop-missing"))
    if live or not untrained:
        return
    lab = session.experiment
    setup = lab.included_setup
    if setup and not lab.awaiting_text and lab.with_setup(setup) != lab:
        st.button(
            "Show the included runs of this text",
            icon=":material/inventory_2:",
            on_click=lambda: session.change(lambda lab: lab.with_setup(setup)),
            key="text.included",
        )
    elif _total_seconds(lab) > _QUICK and (quick := quick_run(lab)):
        seconds = _total_seconds(quick)
        st.button(
            f"Quick run: one seed, {quick.value('iterations'):,} steps, about {format_duration(seconds)}",
            icon=":material/bolt:",
            on_click=lambda: session.change(lambda lab: quick_run(lab) or lab),
            key="brief",
        )


def quick_run(lab: TextLab) -> TextLab | None:
    """Return the state with one seed and as many steps as take under half a minute; None if none is shorter."""
    shorter = lab.with_shared(replicas=1)

    def of_steps(steps: int) -> TextLab:
        return shorter.with_every_trained(iterations=steps, evaluate_every=max(1, steps // 10))

    steps = largest_value(301, lambda steps: _total_seconds(of_steps(steps)) <= _QUICK)
    quick = of_steps(steps) if steps and steps >= 10 else lab
    return quick if quick != lab else None


def _total_seconds(lab: TextLab) -> float:
    return sum(estimate_cost(config).seconds for config in lab.configs.values())


def text_is_available(lab: TextLab) -> bool:
    """Return whether the chosen text can be read now."""
    return not lab.awaiting_text and visitor_text.is_available(lab.task)
