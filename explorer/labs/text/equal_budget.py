"""Equal budgets: the same training time, or the same number of parameters, for every trained model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import streamlit as st

from explorer import ui
from explorer.errors import LineageError
from explorer.experiments import parameter_matching
from explorer.jobs.limits import fit_to_seconds
from explorer.labs.text.state import TextLab
from explorer.training.config import RunConfig
from explorer.ui.state.session import ExperimentSession

_SECONDS_KEY = "lineage.text.fit"  # seconds for which the steps of every model are being counted
_PARAMETERS_KEY = "lineage.text.match"  # parameters to which the sizes of every model are being set
ModelConfigs: TypeAlias = tuple[tuple[str, RunConfig], ...]


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
    configs = tuple((model, lab.config(model)) for model in lab.trained_models)
    for name, compute, what in (
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

        call = ui.Call(compute, configs, wanted)
        waiting = f"Computing {what.format(wanted)} …"
        ui.show_when_ready(f"budget-{name}", call.key, call, take, waiting, 60, refuse)


def _fit_steps(configs: ModelConfigs, seconds: float) -> dict[str, RunConfig]:
    return {model: fit_to_seconds(config, seconds, min_evaluations=10) for model, config in configs}


def _match_parameters(configs: ModelConfigs, wanted: int) -> dict[str, RunConfig]:
    return {model: parameter_matching.match_parameters(config, wanted) for model, config in configs}
