"""Parameters part by part, of any model at any size, and those of a real model with what a token costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.catalogue import MODELS, TASKS
from explorer.inspection.transformer import parameter_count
from explorer.jobs import limits
from explorer.labs.cost import findings
from explorer.labs.cost.findings import layer_name, parameters_finding
from explorer.labs.cost.state import CostState
from explorer.model.real_model import COLOUR, RealModel
from explorer.models.configs import ModelConfig
from explorer.models.structure import PARTS, ModelStructure, Part
from explorer.number_format import format_count, format_percent
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings

_CONFIG_FIELDS = {"d": "width", "m": "hidden", "layers": "layers"}  # field of the state: field of the configuration
_LABELS = {"d": "Width, d", "m": "Hidden units, m", "layers": "Layers"}
_DEFAULT_VOCABULARY = 65
_MIN_VOCABULARY = 2  # tokens
_PART = "cost-parameters-part"
ROW_HEIGHT = 52  # pixels of a bar and its label


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


def parameters_section(session: ui.PageSession[CostState]) -> None:
    """Draw the controls and the parameters of each part."""

    def draw() -> None:
        _controls(session)
        state = session.state
        counted = CostState(who=state.who, d=state.d, m=state.m, layers=state.layers, vocabulary=state.vocabulary)
        waiting = "The model is being built and counted …"
        ui.show("cost-parameters", ui.Call(_count, counted), counts_view, counted, waiting=waiting, height=400)

    ui.fragment(session, _PART, draw)


def _count(state: CostState) -> parameter_count.ParameterCount:
    return parameter_count.count_parameter_groups(sized_config(state), _vocabulary(state))


def _vocabulary(state: CostState) -> int:
    """Return the number of tokens in the vocabulary; the URL may give fewer than there can be."""
    return max(state.vocabulary, _MIN_VOCABULARY) if state.vocabulary else _DEFAULT_VOCABULARY


def _controls(session: ui.PageSession[CostState]) -> None:
    state = session.state
    config = default_config(*state.task_and_model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {name_of_model: replace(state, who=name_of_model).title for name_of_model in model_choices()}
        ui.bind_widget(
            session, "who", st.selectbox, update=CostState.with_model, redraw=(_PART,), options=titles, width=330
        )
        for name, default_size in adjustable_sizes(config.model).items():
            metadata = next(f for f in dataclasses.fields(config.model) if f.name == _CONFIG_FIELDS[name]).metadata

            def make(cost: CostState, new: int, name: str = name, default_size: int = default_size) -> CostState:
                return cost.with_size(name, 0 if new == default_size else new)

            low, high = int(metadata["low"]), int(metadata["high"])
            shown = min(max(getattr(state, name) or default_size, low), high)
            ui.bind_widget(
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
            ui.bind_widget(
                session,
                "vocabulary",
                st.number_input,
                shown=_vocabulary(state),
                update=lambda s, new: replace(s, vocabulary=0 if new == _DEFAULT_VOCABULARY else new),
                redraw=(_PART,),
                low=_MIN_VOCABULARY,
                width=150,
            )


def counts_view(document: ui.Document, counted: parameter_count.ParameterCount, state: CostState) -> None:
    """Write the parameters of each part of a model, the largest first."""
    parts = sorted(counted.groups, key=lambda each: -each.count)
    rows = [(layer_name(each.name), each.count, f"= {each.formula}") for each in parts]
    document.finding(parameters_finding(state.title, [(name, count) for name, count, _ in rows], counted.total))
    chart = parameter_chart(state.title, rows, MODELS[state.task_and_model[1]].colour)
    panel = ui.Panel("cost-parameters", chart)
    document.figures("cost-parameters-figure", [panel], height=ROW_HEIGHT * len(rows) + 20, columns=1)
    sizes = ", ".join(f"{letter} = {value:,}" for letter, value in counted.sizes.items())
    task = TASKS[state.task_and_model[0]].title
    document.text(
        "Weights and biases are counted in the model itself, and the formulas are derived from it. "
        + (f"Here {sizes}; the other numbers follow from " if sizes else "The numbers follow from ")
        + f"the task, {task}, or from the kind of layer. In the code the largest part is {parts[0].name}."
    )


def parameter_chart(title: str, parts: Sequence[tuple[str, int, str]], colour: str) -> charts.BarChart:
    """Return a bar for each part of a model: its name, its number of parameters, and words beside them."""
    names, counts, details = zip(*parts, strict=True)
    bars = charts.Bars("parameters", np.array(counts), colour)
    axis = charts.Axis(span=(0, max(counts)))
    return charts.BarChart(f"Parameters of {title}", names, [bars], axis, digits=0, details=details, margin=2)


# ---- a real model beside a Transformer that is trained here


_CONTEXTS = (128, 1_024, 8_192)  # tokens
_OWN_COLOUR = "--m-transformer"


def real_model_costs(model: RealModel) -> None:
    """Draw where the parameters of both models are, and what a token costs."""
    ui.show("cost-real", ui.structures_call(model), costs_view, waiting=f"{model.title} is being loaded …", height=640)


def costs_view(document: ui.Document, compared: ui.ComparedStructures) -> None:
    """Write where the parameters of both models are, what a token costs, and what the real one saves."""
    real, own = compared.real, compared.own
    document.finding(findings.real_parameters_finding(compared.title, real, own))
    parts = [part for part in PARTS if any(each.parameters.get(part) for each in (real, own))]
    panels = [_panel(compared.title, COLOUR, real, parts), _panel("Trained here", _OWN_COLOUR, own, parts)]
    document.figures("cost-real-figure", panels, height=ROW_HEIGHT * len(parts) + 20, columns=2)
    document.table("cost-real-table", cost_table(compared))
    document.text(findings.cache_finding(compared.title, real))


def _panel(title: str, colour: str, model: ModelStructure, parts: Sequence[Part]) -> ui.Panel:
    rows = []
    for part in parts:
        count = model.parameters.get(part, 0)
        is_tied = part == "output" and model.tied
        share = "the weights of the embedding" if is_tied and not count else format_percent(count / model.total)
        rows.append((findings.part_title(part, model), count, share))
    chart = parameter_chart(title, rows, colour)
    return ui.Panel(f"cost-real-{title}", chart, title=title, colour=colour, value=format_count(model.total))


def cost_table(compared: ui.ComparedStructures) -> charts.Table:
    """Return what one token costs in contexts of several lengths, a row for each."""
    columns = {
        "tokens": charts.Column("context"),
        "real": charts.Column(f"{compared.title}: multiplications", "number", wrap=True),
        "real_kept": charts.Column("its keys and values", "number", wrap=True),
        "own": charts.Column("trained here: multiplications", "number", wrap=True),
        "own_kept": charts.Column("its keys and values", "number", wrap=True, minor=True),
    }
    longest = compared.context or _CONTEXTS[-1]
    rows = []
    for tokens in sorted({min(each, longest) for each in _CONTEXTS}):
        cells = {"tokens": f"{tokens:,} tokens"}
        for key, model in (("real", compared.real), ("own", compared.own)):
            cells[key] = findings.multiplications_text(model.multiplications(tokens))
            cells[f"{key}_kept"] = findings.memory_text(model.cache_bytes(tokens))
        rows.append(cells)
    return charts.Table(columns, rows, "Cost of one token in a context", findings.cost_caption(compared.real))
