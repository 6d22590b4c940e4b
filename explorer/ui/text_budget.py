"""The same time, or the same number of parameters, for every language model that is trained."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.errors import LineageError
from explorer.training.config import RunConfig
from explorer.ui import slowly
from explorer.ui.session import LabSession
from explorer.ui.text_lab import TextLab

_FITTED = "lineage.text.fit"  # seconds for which the steps of every model are being measured
_MATCHED = "lineage.text.match"  # parameters to which the sizes of every model are being set


def choices(session: LabSession[TextLab]) -> None:
    """The same time, or the same number of parameters, for every model that is trained."""
    st.markdown(
        "**The same time.** A few steps of every model are timed on this server now; then each gets as many as fit."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seconds = st.number_input("Seconds each", 1, 3_600, 20, key="text.seconds", width=130)
        if st.button("Fit the steps", icon=":material/timer:"):
            st.session_state[_FITTED] = float(seconds)
            st.rerun()
    st.markdown(
        "**The same size.** Hidden units, and the width of the Transformer, are set so that every model has "
        "about so many parameters. An n-gram has what its text gives."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = st.number_input("Parameters each", 1_000, 5_000_000, 200_000, step=50_000, key="text.match", width=150)
        if st.button("Match the parameters", icon=":material/straighten:"):
            st.session_state[_MATCHED] = int(count)
            st.rerun()


def found(session: LabSession[TextLab]) -> None:
    """What was asked for in `choices` takes seconds; the page goes on meanwhile, and takes it over when it is there."""
    lab = session.lab
    configs = {model: lab.config(model) for model in lab.trained}
    for name, look, what in (
        (_FITTED, _fitted, "steps for {:g} seconds"),
        (_MATCHED, _sized, "sizes for {:,} parameters"),
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

        slowly.eventually(
            f"budget-{name}",
            ("budget", name, wanted, getattr(lab.task, "text", ""), *configs.values()),
            partial(look, configs, wanted),
            take,
            f"Looking for {what.format(wanted)} …",
            60,
            refuse,
            pool="timing" if name == _FITTED else "usual",
        )


def _fitted(configs: Mapping[str, RunConfig], seconds: float) -> dict[str, RunConfig]:
    from explorer.training.budget import within

    return {model: within(config, seconds, looks=10) for model, config in configs.items()}


def _sized(configs: Mapping[str, RunConfig], wanted: int) -> dict[str, RunConfig]:
    from explorer.training.matching import matched

    return {model: matched(config, wanted) for model, config in configs.items()}
