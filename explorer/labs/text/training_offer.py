"""What is not trained yet and what training costs, and whether runs on a private text are saved."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.errors import LineageError
from explorer.jobs.cost import estimate_cost
from explorer.jobs.scheduler import service
from explorer.labs.text.state import TextLab
from explorer.training.config import RunConfig
from explorer.ui import visitor_text
from explorer.ui.page_sections import show_problems
from explorer.ui.result_section import show_when_ready
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest
from explorer.web.background import submit
from explorer.web.results import is_ready

_QUICK_RUN_FROM = 60  # seconds of training, above which a quick look is offered


def offer_training(session: ExperimentSession[TextLab], views: Mapping[str, RunView]) -> None:
    """Draw which models are missing and what their training costs; offer a quick run where that is much."""
    untrained = [view for view in views.values() if not train_controls.is_finished(view)]
    live = any(view.live for view in untrained)
    if untrained and not live and not _cost_is_known(session.experiment, tuple(view.config for view in views.values())):
        return
    request, configs = TrainRequest.for_section(session.experiment.TASK), session.experiment.configs
    train_controls.draw_missing_runs(request, configs, keys=("train-missing", "stop-missing"))
    if not live and sum(estimate_cost(view.config).seconds for view in untrained if not view.stopped) > _QUICK_RUN_FROM:

        def brief() -> None:
            session.change(
                lambda lab: lab.with_shared(replicas=1).with_every_trained(iterations=300, evaluate_every=30)
            )

        st.button("Rather a quick look: one seed, 300 steps", icon=":material/bolt:", on_click=brief, key="brief")


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
        waiting = "The text is being cut into tokens …"
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


def save_offer(session: ExperimentSession[TextLab], views: Mapping[str, RunView]) -> None:
    """Offer to save runs on a private text, which are otherwise dropped at the end of the visit."""
    unsaved = [view for view in views.values() if view.private and view.job and not view.job.saved]
    if not unsaved:
        return

    def save() -> None:
        try:
            for view in unsaved:
                service.save(view.job.key, current_visitor().id)  # type: ignore[union-attr]
        except LineageError as error:
            session.problems = (str(error),)

    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(
            "These runs learned your text. They live in this server's memory and end with your visit. **Saving them "
            "shows everybody on this server what the models wrote, and with it parts of your text.**"
        )
        st.button(
            f"Save {len(unsaved)} run{'s' * (len(unsaved) > 1)}", icon=":material/save:", on_click=save, key="text.save"
        )
