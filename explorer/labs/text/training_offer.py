"""What is not trained yet and what training costs."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.labs.text.state import TextLab
from explorer.tasks.text import corpora
from explorer.ui.state.session import ExperimentSession
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest


def offer_training(session: ExperimentSession[TextLab], views: Mapping[str, RunView]) -> None:
    """Draw which models are missing and what their training costs."""
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


def text_is_available(lab: TextLab) -> bool:
    """Return whether the chosen text can be read now."""
    return not lab.awaiting_text and corpora.is_available(lab.task)
