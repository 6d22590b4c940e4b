"""What is not trained yet and what training costs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.errors import LineageError
from explorer.jobs.cost import estimate_cost
from explorer.labs.text.state import TextLab
from explorer.number_format import format_duration
from explorer.training.config import RunConfig
from explorer.ui import visitor_text
from explorer.ui.page_sections import show_problems
from explorer.ui.result_section import show_when_ready
from explorer.ui.state.session import ExperimentSession
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest
from explorer.web.background import submit
from explorer.web.results import is_ready

_QUICK = 30.0  # seconds: what a quick run takes at most, by the estimate


def offer_training(session: ExperimentSession[TextLab], views: Mapping[str, RunView]) -> None:
    """Draw which models are missing and what their training costs; offer a quick run where that is much."""
    untrained = [view for view in views.values() if not train_controls.is_finished(view)]
    live = any(view.live for view in untrained)
    request, configs = TrainRequest.for_section(session.experiment.TASK), session.experiment.configs
    request.offers_missing = bool(untrained)
    if untrained and not live and not _cost_is_known(session.experiment, tuple(view.config for view in views.values())):
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
    """Return the state with one seed and as many steps as take under half a minute; None if no such state is shorter.

    Raises LineageError if the text cannot be tokenized.
    """
    steps = 300
    for _ in range(4):
        quick = lab.with_shared(replicas=1).with_every_trained(iterations=steps, evaluate_every=max(1, steps // 10))
        seconds = _total_seconds(quick)
        if seconds <= _QUICK:
            return quick if quick != lab else None
        steps = int(steps * 0.9 * _QUICK / seconds)
        if steps < 10:
            break
    return None


def _total_seconds(lab: TextLab) -> float:
    return sum(estimate_cost(config).seconds for config in lab.configs.values())


def _cost_is_known(lab: TextLab, configs: tuple[RunConfig, ...]) -> bool:
    """Return whether the parameters of all models are counted; until then the page reruns once they are.

    Their number depends on the vocabulary, so the text has to be tokenized first. The page itself needs to know it: a
    button in a fragment would rerun the fragment only.
    """
    if not text_is_available(lab):
        return False
    key, count = ("cost", lab.text, *configs), partial(_count_parameters, configs)
    counted = submit(key, count)
    if not is_ready(counted):
        waiting = "The text is being tokenized …"
        show_when_ready("text-cost", key, count, lambda _: st.rerun(), waiting, 90, lambda _: st.rerun())
        return False
    try:
        counted.result()
    except LineageError as error:
        show_problems([str(error)])
        return False
    return True


def _count_parameters(configs: tuple[RunConfig, ...]) -> None:
    """Count the parameters of every model; the counts stay in the cache of `count_parameters`."""
    from explorer.training.model_factory import count_parameters

    for config in configs:
        count_parameters(config)


def text_is_available(lab: TextLab) -> bool:
    """Return whether the chosen text can be read now."""
    return not lab.awaiting_text and visitor_text.is_available(lab.task)
