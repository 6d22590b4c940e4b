"""A section of a page about one of the real models that are open on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from explorer.errors import InvalidSetting, LineageError
from explorer.hub.architectures import Kind
from explorer.model.real_model import RealModel
from explorer.ui.page_sections import escape_markdown, show_problems
from explorer.ui.sections import page_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.stored_models import find_real_model, real_model_titles


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
                st.caption(escape_markdown(model.summary), width=600)
        if model is not None:
            draw(model)
