"""The choice of an opened real model for an experiment in a section of a page."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.hub.card import ModelCard
from explorer.hub.opened import PREFIX
from explorer.hub.suitable import Need, how_to_get, suitable_models
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.stored_models import find_real_model, real_model_titles


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
    st.caption(escape_markdown(model.summary))
    return model.card
