"""The real models on the Runs page: those that are open, and for the operator a field that opens another one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from explorer import ui
from explorer.catalogue import page_file, page_title
from explorer.environment import environment
from explorer.errors import NotAllowed
from explorer.hub import opened, opening, packages
from explorer.hub.allowed import allowed_models
from explorer.hub.architectures import Kind
from explorer.hub.card import NOT_TRAINED_HERE, ModelCard
from explorer.labs.runs.state import RunsState
from explorer.number_format import format_bytes, format_units
from explorer.ui.state.visitor import current_visitor

_LINKS: tuple[tuple[str, str, tuple[Kind, ...]], ...] = (  # page, its URL parameter for a model, and kinds of models
    ("attention", "model", ("decoder", "encoder", "encoder-decoder")),
    ("studio", "models", ("decoder",)),
)
_CARD_WIDTH = 420  # pixels
_SECONDS = 0.5  # between two requests for the progress


def real_models_section(session: ui.PageSession[RunsState]) -> None:
    """Draw the opened models, and for the operator the field and what is being opened."""
    operator = current_visitor().operator
    cards = opened.opened_models()
    st.header("Real models, not trained here", anchor=False)
    if not packages.is_installed():
        ui.caption(ui.escape_markdown(packages.MISSING))
    elif operator:
        _open_form(session)
    elif not cards:
        ui.caption(
            "No real model is open on this server. Its operator opens one here or in a terminal, for example with "
            "`lineage open gpt2`."
        )
    if operator:
        _draw_openings(session)
    with st.container(horizontal=True):
        for card in cards:
            with st.container(border=True, width=_CARD_WIDTH, gap="small"):
                _draw_card(session, card, operator)


def _open_form(session: ui.PageSession[RunsState]) -> None:
    with st.form("open-model", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Name of a model, or a folder on the server",
            key="runs.open",
            placeholder="gpt2",
            width=420,
            max_chars=1_000,
        )
        st.form_submit_button("Open", icon=":material/folder_open:", on_click=_start, args=(session,))
    names = ", ".join(allowed_models()) or "no model"
    ui.caption(
        f"Can be downloaded: {ui.escape_markdown(names)}. Loaded models together take at most "
        f"{format_bytes(environment().models_memory)} of memory."
    )


def _start(session: ui.PageSession[RunsState]) -> None:

    def start() -> None:
        opening.start_opening(given)
        st.session_state["runs.open"] = ""

    if given := str(st.session_state.get("runs.open", "")).strip():
        _act_as_operator(session, start)


def _act_as_operator(session: ui.PageSession[RunsState], act: Callable[[], object]) -> None:
    """Do what only the operator may do; their session may have ended since the page was drawn."""

    def check_and_act() -> None:
        if not current_visitor().operator:
            raise NotAllowed("Only the operator opens and closes real models. Sign in as the operator first.")
        act()

    session.attempt(check_and_act)


def _draw_openings(session: ui.PageSession[RunsState]) -> None:
    """Draw what is being opened, which the browser asks for again and again, and what could not be opened."""
    current = opening.list_openings()
    if not current:
        return
    active = any(not each.problem for each in current)
    ui.live_section("openings", _describe_openings, 40 * len(current), has_begun=lambda: active)
    with st.container(horizontal=True):
        for each in current:
            st.button(
                f"{'Dismiss' if each.problem else 'Cancel'}: {ui.escape_markdown(each.title)}",
                key=f"runs.cancel.{each.number}",
                on_click=_act_as_operator,
                args=(session, partial(opening.cancel_or_dismiss, each.number)),
            )


def _describe_openings(document: ui.Document) -> float | None:
    """Write a line for each model; return the seconds until the next lines."""
    current = opening.list_openings()
    for each in current:
        if each.problem:
            document.problems([f"{each.title} was not opened. {each.problem}"])
        else:
            document.text(f"{each.title}: {each.progress.describe()}")
    return _SECONDS if any(not each.problem for each in current) else None


def _draw_card(session: ui.PageSession[RunsState], card: ModelCard, operator: bool) -> None:
    """Draw what is known about a model, and links to the pages that show it."""
    facts = dict(card.facts())
    st.markdown(f"**{ui.escape_markdown(card.name)}**")
    size = f"{format_units(card.layers, 'layer')} of {format_units(card.heads, 'head')}"
    about = f"{card.kind} ({card.model_type}), {size}, {facts['parameters']} parameters, {card.precision}."
    ui.caption(ui.escape_markdown(f"{NOT_TRAINED_HERE.capitalize()}: {about}"))
    origin = f"{facts['source']}, {facts['commit']}" if "commit" in facts else facts["source"]
    ui.caption(ui.escape_markdown(f"From {origin}. Licence: {facts['licence']}. Context: {facts['context']}."))
    with st.container(horizontal=True, vertical_alignment="center"):
        for address, parameter, kinds in _LINKS:
            if card.kind in kinds:
                st.page_link(
                    page_file(address),
                    label=page_title(address),
                    query_params={parameter: f"{opened.PREFIX}{card.name}"},
                    icon=":material/science:",
                )
        if operator:
            st.button(
                "Close",
                key=f"runs.close.{card.name}",
                help="The model is forgotten; its files stay where they are.",
                on_click=_act_as_operator,
                args=(session, partial(opened.close_model, card.name)),
            )
