"""Parameters part by part, of any model and at sizes set by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from explorer.catalogue import MODELS, TASKS, ModelConfig
from explorer.figures.cost import ROW, bars
from explorer.tasks.text import TextConfig
from explorer.training import limits
from explorer.training.config import RunConfig, changed, default
from explorer.ui.components import Panel, frame
from explorer.ui.cost import Cost
from explorer.ui.cost_findings import parts_finding, spoken
from explorer.ui.page import explanation, plain
from explorer.ui.session import PageSession, bound, part
from explorer.ui.slowly import latest

if TYPE_CHECKING:
    from explorer.inspection.cost_parameters import Parts

_NAMES = {"d": "width", "m": "hidden", "layers": "layers"}  # of the state, of a configuration
_LABELS = {"d": "Width, d", "m": "Hidden units, m", "layers": "Layers"}
_VOCABULARY = 65
_PART = "cost-parameters-part"


def offered() -> list[str]:
    """Every model that learns, on every task, as `Cost.who` names them."""
    return [f"{task}-{name}" for name, row in MODELS.items() if name != "ngram" for task in row.variants]


def sizes_of(model: ModelConfig) -> dict[str, int]:
    """The sizes of a model that can be set by hand, by their name in the state."""
    own = {f.name for f in dataclasses.fields(model)}
    return {name: getattr(model, long) for name, long in _NAMES.items() if long in own}


def configured(state: Cost) -> RunConfig:
    """The model at the sizes that were asked for. Raises InvalidSetting."""
    config = default(*state.task_and_model)
    asked = {f"model.{_NAMES[name]}": getattr(state, name) for name in sizes_of(config.model) if getattr(state, name)}
    return limits.check(changed(config, asked))


def parameters_section(session: PageSession[Cost]) -> None:
    """The whole section."""
    st.header("Parameters, part by part", anchor=False)
    part(session, _PART, lambda: _inside(session))


def _inside(session: PageSession[Cost]) -> None:
    _controls(session)
    state = session.state
    key = ("cost-parameters", state.who, state.d, state.m, state.layers, state.vocabulary)

    def made() -> tuple[Cost, Parts]:
        from explorer.inspection.cost_parameters import counted

        return state, counted(configured(state), state.vocabulary or _VOCABULARY)

    def draw(found: Mapping[str, tuple[Cost, Parts]], _old: frozenset[str]) -> None:
        for counted in found.values():
            _draw(*counted)

    latest("cost-parameters", lambda: {"parts": (key, made)}, draw, "The model is being built and counted …", 400)


def _controls(session: PageSession[Cost]) -> None:
    state = session.state
    config = default(*state.task_and_model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "cost.who", state.who, lambda s, new: s.of(new), (_PART,))
        titles = {who: replace(state, who=who).title for who in offered()}
        st.selectbox("Model and task", list(titles), format_func=titles.__getitem__, width=330, **ties)
        for name, usual in sizes_of(config.model).items():
            about = next(f for f in dataclasses.fields(config.model) if f.name == _NAMES[name]).metadata

            def make(cost: Cost, new: int, name: str = name, usual: int = usual) -> Cost:
                return cost.sized(name, 0 if new == usual else new)

            low, high = int(about["low"]), int(about["high"])
            shown = min(max(getattr(state, name) or usual, low), high)
            ties = bound(session, f"cost.{name}", shown, make, (_PART,))
            st.number_input(_LABELS[name], low, high, step=1, width=150, help=about["help"], **ties)
        if isinstance(config.task, TextConfig):
            ties = bound(
                session,
                "cost.vocabulary",
                state.vocabulary or _VOCABULARY,
                lambda s, new: replace(s, vocabulary=0 if new == _VOCABULARY else new),
                (_PART,),
            )
            st.number_input("Vocabulary, V", 2, 50_000, step=1, width=150, **ties)


def _draw(state: Cost, found: Parts) -> None:
    parts = sorted(found.parts, key=lambda each: -each.count)
    row = MODELS[state.task_and_model[1]]
    rows = [(spoken(each.name), each.count, f"= {each.formula}") for each in parts]
    named = [(name, count) for name, count, _ in rows]
    st.subheader(plain(parts_finding(state.title, named, found.total)), anchor=False)
    said = "; ".join(f"{name} {count:,}" for name, count, _ in rows)
    frame(
        [Panel("cost-parameters", bars(rows, row.colour), f"Parameters of {state.title}: {said}.")],
        key="cost-parameters-figure",
        height=ROW * len(rows) + 20,
        columns=1,
    )
    sizes = ", ".join(f"{letter} = {value:,}" for letter, value in found.sizes.items())
    task = TASKS[state.task_and_model[0]].title
    explanation(
        plain(
            "Counted from the model itself, weights and biases together. The formulas are read off it too: it is "
            "built once more with sizes that can be told apart. "
            + (f"Here {sizes}; the other numbers are given by " if sizes else "The numbers are given by ")
            + f"the task, {task}, or by how a layer is made. In the code the first of these parts is {parts[0].name}."
        )
    )
