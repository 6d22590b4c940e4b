"""The dialog of one run: its facts, its name, tags and note, and links to the pages that show it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from explorer.catalogue import page_file, page_title, task_row
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.experiments.run_names import run_name
from explorer.labs.runs.actions import change_card, delete_runs, export_run, may_change
from explorer.labs.runs.descriptions import STATE_WORDS, run_facts
from explorer.labs.runs.state import RunsState
from explorer.run_store import index, operations, store
from explorer.ui.code_and_papers import draw_downloads
from explorer.ui.page_sections import escape_markdown, show_problems
from explorer.ui.state.session import PageSession, focus_run


def open_run(session: PageSession[RunsState], key: str) -> None:
    """Open the dialog of a run."""

    def close() -> None:
        session.state = replace(session.state, run="")
        focus_run("")

    try:
        run = store.find(key)
    except LineageError as error:
        show_problems([str(error)])
        return
    title = escape_markdown(run.card.name or run_name(run.config))
    st.dialog(title, width="large", on_dismiss=close)(_run_details)(session, key)


def _run_details(session: PageSession[RunsState], key: str) -> None:
    """Draw the content of the dialog."""
    try:
        run = store.find(key)
    except LineageError as error:  # deleted in the meantime
        show_problems([str(error)])
        return
    card, mine = run.card, may_change(key)
    st.caption(f"{key} · {STATE_WORDS[card.state]}")
    with st.container(horizontal=True):
        for name, value in run_facts(run):
            st.metric(name, escape_markdown(value), width="content")
    if card.problem:
        st.warning(escape_markdown(card.problem), icon=":material/error:")
    if mine:
        _card_form(session, run, key)
    elif card.note or card.tags:
        st.text("\n".join([*(["tags: " + ", ".join(card.tags)] if card.tags else []), card.note]))
    with st.container(horizontal=True):
        page = task_row(run.config.task).page
        st.page_link(
            page_file(page), label=f"Open in {page_title(page)}", query_params={"run": key}, icon=":material/science:"
        )
        st.page_link(
            "compare.py",
            label="Compare it, or branch from it",
            query_params={"runs": key},
            icon=":material/stacked_line_chart:",
        )
        st.download_button(
            "Export",
            lambda: export_run(key),
            file_name=f"lineage_{key}.zip",
            mime="application/zip",
            icon=":material/download:",
            on_click="ignore",
            key="export-open",
        )
        draw_downloads(run.config, "code-open")
        if mine and st.button("Delete", icon=":material/delete:", key="delete-open"):
            delete_runs(session, (key,))
            focus_run("")
            st.rerun()


def _card_form(session: PageSession[RunsState], run: store.StoredRun, key: str) -> None:
    """Draw the inputs for name, tags, note and pin; each change is stored at once."""
    card = run.card

    def save(name: str) -> None:
        change_card(session, key, **{name: st.session_state[f"say.{key}.{name}"]})

    def ties(name: str) -> dict[str, Any]:
        return {"key": f"say.{key}.{name}", "on_change": save, "args": (name,)}

    left, right = st.columns(2)
    with left:
        st.text_input(
            "Name", card.name, max_chars=operations.MAX_NAME_LENGTH, placeholder=run_name(run.config), **ties("name")
        )
        options = sorted({*card.tags, *index.all_tags()}, key=str.casefold)
        st.multiselect(
            "Tags",
            options,
            list(card.tags),
            accept_new_options=True,
            max_selections=operations.MAX_TAGS,
            **ties("tags"),
        )
        st.toggle("Pinned: it is not deleted to make room", card.pinned, **ties("pinned"))
    with right:
        st.text_area("Note", card.note, max_chars=environment().most_text, height=150, **ties("note"))
    show_problems(session.problems)
