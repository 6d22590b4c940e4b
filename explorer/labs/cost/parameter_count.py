"""Parameters part by part, of any model at any size."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from explorer.catalogue import MODELS, TASKS
from explorer.figures.transformer.cost import ROW_HEIGHT, parameter_bars
from explorer.inspection.transformer import parameter_count
from explorer.jobs import limits
from explorer.labs.cost.findings import layer_name, parameters_finding
from explorer.labs.cost.state import CostState
from explorer.models.configs import ModelConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession, fragment
from explorer.ui.state.widgets import bind_widget

_CONFIG_FIELDS = {"d": "width", "m": "hidden", "layers": "layers"}  # field of the state: field of the configuration
_LABELS = {"d": "Width, d", "m": "Hidden units, m", "layers": "Layers"}
_DEFAULT_VOCABULARY = 65
_MIN_VOCABULARY = 2  # tokens
_PART = "cost-parameters-part"


def model_choices() -> list[str]:
    """Return every trained model on every task, in the form of `CostState.who`."""
    return [f"{task}-{name}" for name, row in MODELS.items() if name != "ngram" for task in row.by_task]


def adjustable_sizes(model: ModelConfig) -> dict[str, int]:
    """Return the sizes of a model that can be set, by their field in the state."""
    own = {f.name for f in dataclasses.fields(model)}
    return {name: getattr(model, long) for name, long in _CONFIG_FIELDS.items() if long in own}


def sized_config(state: CostState) -> RunConfig:
    """Return the configuration with the selected sizes. Raises InvalidSetting."""
    config = default_config(*state.task_and_model)
    changes = {
        f"model.{_CONFIG_FIELDS[name]}": getattr(state, name)
        for name in adjustable_sizes(config.model)
        if getattr(state, name)
    }
    return limits.check_numbers(with_settings(config, changes))


def parameters_section(session: PageSession[CostState]) -> None:
    """Draw the controls and the parameters of each part."""
    fragment(session, _PART, lambda: _draw_fragment(session))


def _draw_fragment(session: PageSession[CostState]) -> None:
    _controls(session)
    state = session.state
    key = ("cost-parameters", state.who, state.d, state.m, state.layers, state.vocabulary)

    jobs = {"parts": (key, partial(_count, state))}
    result_section("cost-parameters", jobs, partial(_draw_counts), "The model is being built and counted …", 400)


def _count(state: CostState) -> tuple[CostState, parameter_count.ParameterCount]:
    return state, parameter_count.count_parameter_groups(sized_config(state), _vocabulary(state))


def _vocabulary(state: CostState) -> int:
    """Return the number of tokens in the vocabulary; the URL may give fewer than there can be."""
    return max(state.vocabulary, _MIN_VOCABULARY) if state.vocabulary else _DEFAULT_VOCABULARY


def _controls(session: PageSession[CostState]) -> None:
    state = session.state
    config = default_config(*state.task_and_model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {name_of_model: replace(state, who=name_of_model).title for name_of_model in model_choices()}
        bind_widget(
            session, "who", st.selectbox, update=CostState.with_model, redraw=(_PART,), options=titles, width=330
        )
        for name, default_size in adjustable_sizes(config.model).items():
            metadata = next(f for f in dataclasses.fields(config.model) if f.name == _CONFIG_FIELDS[name]).metadata

            def make(cost: CostState, new: int, name: str = name, default_size: int = default_size) -> CostState:
                return cost.with_size(name, 0 if new == default_size else new)

            low, high = int(metadata["low"]), int(metadata["high"])
            shown = min(max(getattr(state, name) or default_size, low), high)
            bind_widget(
                session,
                name,
                st.number_input,
                shown=shown,
                update=make,
                redraw=(_PART,),
                label=_LABELS[name],
                low=low,
                high=high,
                width=150,
                help=metadata["help"],
            )
        if isinstance(config.task, TextConfig):
            bind_widget(
                session,
                "vocabulary",
                st.number_input,
                shown=_vocabulary(state),
                update=lambda s, new: replace(s, vocabulary=0 if new == _DEFAULT_VOCABULARY else new),
                redraw=(_PART,),
                low=_MIN_VOCABULARY,
                width=150,
            )


def _draw_counts(document: Document, results: Mapping[str, tuple[CostState, parameter_count.ParameterCount]]) -> None:
    state, counted = results["parts"]
    parts = sorted(counted.groups, key=lambda each: -each.count)
    row = MODELS[state.task_and_model[1]]
    rows = [(layer_name(each.name), each.count, f"= {each.formula}") for each in parts]
    named = [(name, count) for name, count, _ in rows]
    document.finding(parameters_finding(state.title, named, counted.total))
    sentence = "; ".join(f"{name} {count:,}" for name, count, _ in rows)
    add_plot_frame(
        document,
        [Panel("cost-parameters", parameter_bars(rows, row.colour), f"Parameters of {state.title}: {sentence}.")],
        key="cost-parameters-figure",
        height=ROW_HEIGHT * len(rows) + 20,
        columns=1,
    )
    sizes = ", ".join(f"{letter} = {value:,}" for letter, value in counted.sizes.items())
    task = TASKS[state.task_and_model[0]].title
    document.text(
        "Weights and biases are counted in the model itself, and the formulas are derived from it. "
        + (f"Here {sizes}; the other numbers follow from " if sizes else "The numbers follow from ")
        + f"the task, {task}, or from the kind of layer. In the code the largest part is {parts[0].name}."
    )
