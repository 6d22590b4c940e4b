"""Actions on stored runs, each of which reports its error on the page, and the dialog of one run."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from explorer import ui
from explorer.catalogue import page_file, page_title, task_row
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.experiments.run_names import run_name
from explorer.jobs import limits
from explorer.labs.runs.descriptions import STATE_WORDS, run_facts
from explorer.labs.runs.state import RunsState
from explorer.run_store import index, operations, store
from explorer.run_store.archive import read
from explorer.run_store.archive.write import pack
from explorer.ui import wording
from explorer.ui.code_and_papers import draw_downloads
from explorer.ui.state.session import focus_run
from explorer.ui.state.visitor import count_action, current_tab, current_visitor
from explorer.web import rate_limits
from explorer.web.visitors import operator_session_end

log = logging.getLogger(__name__)


def delete_runs(session: ui.PageSession[RunsState], keys: Sequence[str]) -> None:
    """Delete runs. They can be restored until the visitor leaves the page."""
    me = current_visitor()
    if session.attempt(lambda: operations.delete_runs(keys, me.id, me.operator)):
        current_tab().deleted.extend(keys)
        session.state = replace(session.state, runs=(), run="")


def restore_runs(session: ui.PageSession[RunsState]) -> None:
    """Restore the runs that were deleted since the visitor opened the page."""
    me, keys = current_visitor(), list(current_tab().deleted)
    if session.attempt(lambda: operations.restore_runs(keys, me.id, me.operator)):
        current_tab().deleted.clear()


def change_card(session: ui.PageSession[RunsState], key: str, **fields: Any) -> None:
    """Change the name, tags, note or pin of a run."""
    me = current_visitor()
    session.attempt(lambda: operations.edit_card(key, me.id, me.operator, **fields))


def import_run(session: ui.PageSession[RunsState], content: bytes) -> str:
    """Import a zip; return the key of its run, or an empty string if it was refused."""
    keys: list[str] = []

    def import_archive() -> None:
        count_action(rate_limits.IMPORTS)
        keys.append(read.import_zip(content, current_visitor().id, limits.check).key)

    session.attempt(import_archive)
    return keys[0] if keys else ""


def export_run(key: str) -> bytes:
    """Return a run as a zip; empty if it has been deleted in the meantime."""
    try:
        return pack(store.find(key))
    except LineageError as error:
        log.warning("run %s could not be packed: %s", key, error)
        return b""


def may_change(key: str) -> bool:
    """Return whether this visitor may change a run."""
    me = current_visitor()
    try:
        return operations.may_change(store.find(key), me.id, me.operator)
    except LineageError:
        return me.operator


def actions_row(session: ui.PageSession[RunsState], compare: Mapping[str, str], most_compared: int) -> None:
    """Draw the actions on the selected runs, if there are any, and the import.

    `compare` is the address of the Compare page as the visitor left it, `most_compared` how many runs fit there.
    """
    selected = session.state.runs
    me, deleted = current_visitor(), current_tab().deleted
    with st.container(horizontal=True, vertical_alignment="center", height="content"):
        if selected:
            st.page_link(
                "compare.py",
                label=f"Compare {wording.number_word(len(selected))}",
                query_params={**compare, "runs": ",".join(selected)},
                icon=":material/stacked_line_chart:",
                disabled=len(selected) > most_compared,
                help=None if len(selected) <= most_compared else f"At most {most_compared} at once.",
            )
            one = selected[0] if len(selected) == 1 else ""
            st.download_button(
                "Export",
                (lambda: export_run(one)) if one else b"",
                file_name=f"lineage_{one}.zip",
                mime="application/zip",
                icon=":material/download:",
                on_click="ignore",
                disabled=not one,
                help="One zip with the configuration, the metrics as CSV, the weights as safetensors and a model card."
                if one
                else "Tick one run only.",
            )
            mine = all(may_change(key) for key in selected)
            st.button(
                "Delete",
                icon=":material/delete:",
                on_click=delete_runs,
                args=(session, selected),
                disabled=not mine,
                help=None if mine else "Some of these runs are included or belong to other visitors.",
            )
        _import_popover(session)
        if deleted:
            count = f"{wording.number_word(len(deleted))} run{'' if len(deleted) == 1 else 's'}"
            st.button(f"Undo: bring back {count}", icon=":material/undo:", on_click=restore_runs, args=(session,))
            ui.caption("Gone for good when you leave this page.")
        elif me.operator:
            end = operator_session_end(st.context.cookies)
            until = f" until {end:%H:%M} UTC" if end else ""
            ui.caption(f"You are the operator{until}. [Sign out](operator)")


def most_upload_megabytes() -> int:
    """Return the largest archive that can be imported in the browser; the server refuses what its option forbids."""
    allowed = math.ceil(environment().most_upload / 1_000_000)
    return max(1, min(allowed, int(st.get_option("server.maxUploadSize"))))


@st.fragment
def _import_popover(session: ui.PageSession[RunsState]) -> None:
    with st.popover("Import", icon=":material/upload:"):
        with st.form("import", border=False):  # the button of a form waits for an upload that is under way
            upload = st.file_uploader(
                "A zip that was exported from Lineage", type="zip", max_upload_size=most_upload_megabytes()
            )
            pressed = st.form_submit_button("Import it", icon=":material/upload:")
        if pressed and upload is None:
            ui.show_problems(
                [
                    "No zip has arrived. Choose one. If its name has a red background, the server refused the file, "
                    "probably because it is too large."
                ]
            )
        elif pressed and upload is not None:
            if key := import_run(session, upload.getvalue()):
                session.state = replace(session.state, run=key)
                st.rerun()
            ui.show_problems(session.problems)


# ---- the dialog of one run


def open_run(session: ui.PageSession[RunsState], key: str) -> None:
    """Open the dialog of a run."""

    def close() -> None:
        session.state = replace(session.state, run="")
        focus_run("")

    try:
        run = store.find(key)
    except LineageError as error:
        ui.show_problems([str(error)])
        return
    title = ui.escape_markdown(run.card.name or run_name(run.config))
    st.dialog(title, width="large", on_dismiss=close)(_run_details)(session, key)


def _run_details(session: ui.PageSession[RunsState], key: str) -> None:
    try:
        run = store.find(key)
    except LineageError as error:  # deleted in the meantime
        ui.show_problems([str(error)])
        return
    card, mine = run.card, may_change(key)
    ui.caption(f"{key} · {STATE_WORDS[card.state]}")
    with st.container(horizontal=True):
        for name, value in run_facts(run):
            st.metric(name, ui.escape_markdown(value), width="content")
    if card.problem:
        st.warning(ui.escape_markdown(card.problem), icon=":material/error:")
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


def _card_form(session: ui.PageSession[RunsState], run: store.StoredRun, key: str) -> None:
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
    ui.show_problems(session.problems)
