"""Comparisons of architectures, each at the learning rate that a search found best for it, to open on this page."""

from __future__ import annotations

from typing import Final

import streamlit as st

from explorer import ui
from explorer.catalogue import MODELS
from explorer.experiments import recall
from explorer.experiments.default_runs import growth_runs, negation_runs, sentiment_runs
from explorer.labs.compare.state import Comparison
from explorer.training.config import RunConfig, key
from explorer.ui.learning_rates import draw_learning_rates

RULE: Final = (
    "Each architecture has the learning rate that was best for it in a search; every one was given the same rates. "
    "Only the learning rate was searched: with another number of steps, size or schedule the result may be another one."
)
_COMPARISONS: Final = {  # the measure on this page, and what is compared
    "negation": ("exact_accuracy", "The default models of the page Negation."),
    "recall": ("accuracy", "The default models of the page Memory, on sequences of 50 symbols."),
    "sentiment": ("test_accuracy_reviews", "Models of English sentences, on reviews that no model has seen."),
    "text": ("val_loss_part", "Networks with about 29,000 parameters, trained for 400 steps on Tiny Shakespeare."),
}


def tuned_configs(comparison: str) -> dict[str, RunConfig]:
    """Return the runs of a comparison, each with its searched learning rate, by title."""
    if comparison == "recall":
        variants = (recall.VARIANTS[name] for name in recall.DEFAULT_VARIANTS)
        return {each.full_label: each.config() for each in variants}
    runs = {"negation": negation_runs, "text": growth_runs, "sentiment": sentiment_runs}[comparison]()
    return {MODELS[name].title: config for name, config in runs.items()}


def tuned_section(session: ui.PageSession[Comparison]) -> None:
    """Draw the choice of a task, a link that compares its runs on this page, and the search for their rates."""
    ui.explanation(RULE)
    ui.bind_widget(session, "tuned", st.segmented_control)
    configs, (measure, about) = tuned_configs(session.state.tuned), _COMPARISONS[session.state.tuned]
    runs = ",".join(key(config) for config in configs.values())
    ui.caption(about)
    st.page_link(
        "compare.py",
        label="Compare these runs",
        query_params={"runs": runs, "y": measure},
        icon=":material/stacked_line_chart:",
    )
    draw_learning_rates(configs)
