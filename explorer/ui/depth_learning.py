"""Whether the place of the norm matters for learning: trainings that ship, with and without a warm-up."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.training.experiments import EXPERIMENTS, Experiment
from explorer.ui import depth_findings as findings
from explorer.ui import runs
from explorer.ui.components import frame
from explorer.ui.depth_findings import Ended
from explorer.ui.experiment_findings import Outcome, by_value
from explorer.ui.experiment_views import end_panels
from explorer.ui.page import explanation, plain
from explorer.ui.text_experiments import configs, outcomes


def pairs(experiment: Experiment, found: Mapping[str, Outcome]) -> list[Ended]:
    """What differs in the place of the norm only, where both trainings are there."""
    after, before = experiment.fields
    return [
        Ended(f"at a rate of {value:g} {line.words}", one[value].bits, other[value].bits)
        for line in experiment.lines
        for one, other in [[by_value(experiment, part, line, found) for part in (after, before)]]
        for value in after.values
        if value in one and value in other
    ]


def learning_section() -> None:
    """The whole section."""
    experiment = EXPERIMENTS["warmup"]
    st.header("Does it matter for learning?", anchor=False)
    found = outcomes(experiment, runs.lanes(configs(experiment), set()))
    st.subheader(plain(findings.learning_finding(pairs(experiment, found))), anchor=False)
    explanation(f"{experiment.about} {findings.warm_words(len(found) < len(experiment.trials))}")
    frame(end_panels(experiment, found), key="depth-learning", height=300, columns=len(experiment.fields))
    st.caption("Bits a character on all held-out text at the end; lower is better. A dot for each of three seeds.")
    st.page_link(
        "text.py",
        label="See and train these runs",
        query_params={"experiment": experiment.name},
        icon=":material/stacked_line_chart:",
    )
