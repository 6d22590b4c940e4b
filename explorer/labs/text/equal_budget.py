"""Equal budgets: the same training time, or the same number of parameters, for every trained model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.errors import LineageError
from explorer.experiments import parameter_matching
from explorer.jobs.limits import fit_to_seconds
from explorer.labs.text.state import TextLab
from explorer.training.config import RunConfig
from explorer.ui.result_section import show_when_ready
from explorer.ui.state.session import ExperimentSession

_SECONDS_KEY = "lineage.text.fit"  # seconds for which the steps of every model are being counted
_PARAMETERS_KEY = "lineage.text.match"  # parameters to which the sizes of every model are being set


def budget_form(session: ExperimentSession[TextLab]) -> None:
    """Draw the form for equal time or equal parameters."""
    st.markdown(
        "**Equal training time.** Every network gets as many steps as fit into the time on this server, by the "
        "estimate that the Train button shows."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seconds = st.number_input("Seconds for each network", 1, 3_600, 20, key="text.seconds", width=130)
        if st.button("Set the steps", icon=":material/timer:"):
            st.session_state[_SECONDS_KEY] = float(seconds)
            st.rerun()
    st.markdown(
        "**Equal numbers of parameters.** The hidden units, and the width of the Transformer, are set so that every "
        "network has about this many parameters. The size of an n-gram follows from its text."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = st.number_input(
            "Parameters of each network", 1_000, 5_000_000, 200_000, step=50_000, key="text.match", width=150
        )
        if st.button("Set the sizes", icon=":material/straighten:"):
            st.session_state[_PARAMETERS_KEY] = int(count)
            st.rerun()


def apply_budget(session: ExperimentSession[TextLab]) -> None:
    """Compute the requested budget in the background, then take over its settings."""
    lab = session.experiment
    configs = {model: lab.config(model) for model in lab.trained_models}
    for name, look, what in (
        (_SECONDS_KEY, _fit_steps, "steps for {:g} seconds"),
        (_PARAMETERS_KEY, _match_parameters, "sizes for {:,} parameters"),
    ):
        wanted = st.session_state.get(name)
        if wanted is None:
            continue

        def take(runs: Mapping[str, RunConfig], name: str = name) -> None:
            st.session_state.pop(name, None)
            session.change(lambda lab: lab.with_runs(runs))
            st.rerun()

        def refuse(error: LineageError, name: str = name) -> None:
            st.session_state.pop(name, None)
            session.problems = (str(error),)
            st.rerun()

        show_when_ready(
            f"budget-{name}",
            ("budget", name, wanted, getattr(lab.task, "text", ""), *configs.values()),
            partial(look, configs, wanted),
            take,
            f"Computing {what.format(wanted)} …",
            60,
            refuse,
        )


def _fit_steps(configs: Mapping[str, RunConfig], seconds: float) -> dict[str, RunConfig]:
    return {model: fit_to_seconds(config, seconds, min_evaluations=10) for model, config in configs.items()}


def _match_parameters(configs: Mapping[str, RunConfig], wanted: int) -> dict[str, RunConfig]:
    return {model: parameter_matching.match_parameters(config, wanted) for model, config in configs.items()}
