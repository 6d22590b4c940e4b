"""Sections about the real models that are open on this machine: the choice of one, and one beside a model of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from explorer.errors import InvalidSetting, LineageError
from explorer.hub.architectures import Kind
from explorer.hub.card import ModelCard
from explorer.hub.opened import PREFIX
from explorer.hub.suitable import Need, how_to_get, suitable_models
from explorer.inspection.transformer import structure
from explorer.model.real_model import RealModel
from explorer.model.run_model import RunModel
from explorer.models.structure import ModelStructure
from explorer.ui.page_sections import caption, escape_markdown, explanation, show_problems
from explorer.ui.sections import page_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training import stored_models
from explorer.ui.training.stored_models import find_real_model, real_model_titles
from explorer.web.call import Call


def choose_real_model(session: PageSession[Any], need: Need) -> ModelCard | None:
    """Draw the choice of an opened model, by the field `real` of the state; without one, draw how to get one.

    Returns the card of the chosen model, or None.
    """
    names = [f"{PREFIX}{card.name}" for card in suitable_models(need)]
    if not names:
        explanation(escape_markdown(how_to_get(need)))
        return None
    name = session.state.real or names[0]
    if name not in names:
        show_problems([f"“{name}” is no real {need} that is open on this machine; another one is shown."])
        name = names[0]
    model = find_real_model(name)
    if len(names) > 1:
        titles = real_model_titles(model.card.kind)
        options = {each: titles[each] for each in names}
        bind_widget(session, "real", st.selectbox, shown=name, options=options, width=330)
    caption(escape_markdown(model.summary))
    return model.card


def real_model_section(
    session: PageSession[Any],
    name: str,
    title: str,
    kinds: tuple[Kind, ...],
    draw: Callable[[RealModel], object],
) -> None:
    """Draw a section about a real model, and what its card says; nothing if no model of these kinds is open.

    The state of the page has the field `real`: the name of the model in a URL, or "" for the first one of the menu.
    """
    titles = {each: title for kind in kinds for each, title in real_model_titles(kind).items()}
    selected = session.state.real or next(iter(titles), "")
    if not selected:
        return
    with page_section(name, title):
        try:
            model = find_real_model(selected)
            if model.card.kind not in kinds:
                article = "a" if model.card.kind == "decoder" else "an"
                raise InvalidSetting(f"{model.title} is {article} {model.card.kind}, which this section does not show.")
        except LineageError as error:
            show_problems([str(error)])
            titles = {selected: selected} | titles
            model = None
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if len(titles) > 1:
                key = f"{session.prefix}.{name}.model"  # another section may have the same choice
                bind_widget(session, "real", st.selectbox, key=key, shown=selected, options=titles, width=330)
            if model is not None:
                caption(escape_markdown(model.summary), width=600)
        if model is not None:
            draw(model)


OWN_RUNS: Mapping[Kind, str] = {  # included runs, by the kind of the real model
    "decoder": "text-transformer",
    "encoder": "negation-single-transformer",
    "encoder-decoder": "dates-transformer",
}


@dataclass(frozen=True)
class ComparedStructures:
    """What a real model and an own one are made of."""

    title: str
    real: ModelStructure
    own: ModelStructure
    context: int  # tokens that the real model reads at most; 0: no limit


def structures_call(model: RealModel) -> Call[ComparedStructures]:
    """Return the call for the structures of a real model and of ours. Raises LineageError if ours is not here."""
    return Call(_compare, model, stored_models.find_run(OWN_RUNS[model.card.kind]))


def _compare(model: RealModel, own: RunModel) -> ComparedStructures:
    real, ours = structure.model_structure(model.module()), structure.model_structure(own.module(0))
    return ComparedStructures(model.title, real, ours, model.card.context)
