"""Runs: what this server has trained and kept."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from explorer.catalogue import MODELS, TASKS, page_title, task_row
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.training import index, library, store
from explorer.ui import findings, shelf
from explorer.ui.comparing import MOST, Comparison
from explorer.ui.page import empty_panel, lead, page_head, plain, problems, take_away
from explorer.ui.session import (
    PageSession,
    address_of,
    arrived,
    bound,
    focus,
    page_session,
    run_in_focus,
    write_address,
)
from explorer.ui.shelf import Shelf
from explorer.ui.visitors import visitor, window


def filters(session: PageSession[Shelf]) -> None:
    """Which runs are shown."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "runs.text", state.text, lambda s, text: replace(s, text=text.strip()))
        st.text_input("Look for", width=210, placeholder="a name, a tag, a key", **ties)
        chosen("models", "Models", {name: row.title for name, row in MODELS.items()}, session)
        if len(TASKS) > 1:
            chosen("tasks", "Tasks", {name: row.title for name, row in TASKS.items()}, session)
        if known := index.every_tag():
            chosen("tags", "Tags", {tag: tag for tag in known}, session)
        for name, label, options in (
            ("when", "When", ("ever", "today", "this week", "this month")),
            ("whose", "Whose", ("everybody's", "mine", "shipped")),
        ):
            ties = bound(session, f"runs.{name}", getattr(state, name), partial(changed, name))
            st.selectbox(label, options, width=150, **ties)


def chosen(name: str, label: str, options: dict[str, str], session: PageSession[Shelf]) -> None:
    """A filter that takes several values."""
    here = [value for value in getattr(session.state, name) if value in options]
    ties = bound(session, f"runs.{name}", here, lambda s, values: changed(name, s, tuple(values)))
    st.multiselect(label, list(options), format_func=options.__getitem__, width=210, placeholder="all", **ties)


def changed(name: str, state: Shelf, value: object) -> Shelf:
    """The state with one part changed."""
    return Shelf(**{**vars(state), name: value})


def actions(session: PageSession[Shelf]) -> None:
    """What can be done with the runs that are picked out."""
    picked = session.state.runs
    me, deleted = visitor(), window().deleted
    with st.container(horizontal=True, vertical_alignment="center", height="content"):
        st.page_link(
            "compare.py",
            label=f"Compare {findings.number(len(picked))}" if picked else "Compare",
            query_params=address_of("compare", Comparison) | {"runs": ",".join(picked)},
            icon=":material/stacked_line_chart:",
            disabled=not 1 <= len(picked) <= MOST,
            help=None if len(picked) <= MOST else f"At most {MOST} at once.",
        )
        one = picked[0] if len(picked) == 1 else ""
        st.download_button(
            "Export",
            (lambda: shelf.packed(one)) if one else b"",
            file_name=f"lineage_{one}.zip",
            mime="application/zip",
            icon=":material/download:",
            on_click="ignore",
            disabled=not one,
            help="One zip with the configuration, the metrics as CSV, the weights as safetensors and a model card."
            if one
            else "Tick one run.",
        )
        mine = bool(picked) and all(may_change(key) for key in picked)
        st.button(
            "Delete",
            icon=":material/delete:",
            on_click=shelf.delete,
            args=(session, picked),
            disabled=not mine,
            help=None if mine or not picked else "Among them are runs of somebody else, or such as ship.",
        )
        import_box(session)
        if deleted:
            count = f"{findings.number(len(deleted))} run{'' if len(deleted) == 1 else 's'}"
            st.button(f"Undo: bring back {count}", icon=":material/undo:", on_click=shelf.undelete, args=(session,))
            st.caption("Gone for good when you leave this page.")
        elif me.operator:
            st.caption("You are the operator.")


def may_change(key: str) -> bool:
    """Whether this visitor may change a run."""
    me = visitor()
    try:
        return library.may_change(store.find(key), me.id, me.operator)
    except LineageError:
        return me.operator


@st.fragment
def import_box(session: PageSession[Shelf]) -> None:
    """A run from elsewhere, as a zip."""
    with st.popover("Import", icon=":material/upload:"):
        most = environment().most_upload // 1_000_000
        with st.form("import", border=False):  # its button waits for an upload that is under way
            given = st.file_uploader("A zip that was exported from Lineage", type="zip", max_upload_size=max(most, 1))
            pressed = st.form_submit_button("Import it", icon=":material/upload:")
        if pressed and given is None:
            problems(["There is no file yet. Choose a zip first."])
        elif pressed and given is not None:
            if key := shelf.import_zip(session, given.getvalue()):
                session.state = replace(session.state, run=key)
                st.rerun()
            problems(session.problems)


def closed() -> None:
    """The open run was closed."""
    session.state = replace(session.state, run="")
    focus("")


def open_run(key: str) -> None:
    """One run in front of the others."""
    try:
        run = store.find(key)
    except LineageError as error:
        problems([str(error)])
        return
    title = plain(run.card.name or run.config.title)
    st.dialog(title, width="large", on_dismiss=closed)(details)(key)


def details(key: str) -> None:
    """Everything about one run, and what can be said of it."""
    try:
        run = store.find(key)
    except LineageError as error:  # deleted in the meantime
        problems([str(error)])
        return
    card, mine = run.card, may_change(key)
    st.caption(f"{key} · {shelf.STATE_WORDS[card.state]}")
    with st.container(horizontal=True):
        for name, value in shelf.facts(run):
            st.metric(name, plain(value), width="content")
    if card.problem:
        st.warning(plain(card.problem), icon=":material/error:")
    if mine:
        say(run, key)
    elif card.note or card.tags:
        st.text("\n".join([*(["tags: " + ", ".join(card.tags)] if card.tags else []), card.note]))
    with st.container(horizontal=True):
        page = task_row(run.config.task).page
        st.page_link(
            f"{page}.py", label=f"Open in {page_title(page)}", query_params={"run": key}, icon=":material/science:"
        )
        st.page_link(
            "compare.py",
            label="Compare, or branch from it",
            query_params={"runs": key},
            icon=":material/stacked_line_chart:",
        )
        st.download_button(
            "Export",
            lambda: shelf.packed(key),
            file_name=f"lineage_{key}.zip",
            mime="application/zip",
            icon=":material/download:",
            on_click="ignore",
            key="export-open",
        )
        take_away(run.config, "code-open")
        if mine and st.button("Delete", icon=":material/delete:", key="delete-open"):
            shelf.delete(session, (key,))
            focus("")
            st.rerun()


def say(run: store.StoredRun, key: str) -> None:
    """Name, tags, note and pin; each is kept as soon as it is given."""
    card = run.card

    def kept(name: str) -> None:
        shelf.change(session, key, **{name: st.session_state[f"say.{key}.{name}"]})

    def ties(name: str) -> dict[str, Any]:
        return {"key": f"say.{key}.{name}", "on_change": kept, "args": (name,)}

    left, right = st.columns(2)
    with left:
        st.text_input("Name", card.name, max_chars=library.MOST_NAME, placeholder=run.config.title, **ties("name"))
        options = sorted({*card.tags, *index.every_tag()}, key=str.casefold)
        st.multiselect(
            "Tags", options, list(card.tags), accept_new_options=True, max_selections=library.MOST_TAGS, **ties("tags")
        )
        st.toggle("Pinned: it is not deleted to make room", card.pinned, **ties("pinned"))
    with right:
        st.text_area("Note", card.note, max_chars=environment().most_text, height=150, **ties("note"))
    problems(session.problems)


def disk() -> None:
    """How much room the runs take, and what happens when there is no more."""
    used, most = index.used_bytes(), environment().most_disk
    sign_in = environment().operator_password and not visitor().operator
    st.caption(
        f"The runs of this server take {shelf.megabytes(used)} of {shelf.megabytes(most)}. When that is full, the "
        "oldest runs of visitors that are not pinned are deleted to make room for new ones."
        + (" [Sign in as the operator](/operator)" if sign_in else "")
    )


def page(session: PageSession[Shelf]) -> None:
    """The whole screen."""
    page_head("What has been trained here, and what came of it?")
    lead("Open a run by its name, or tick several and compare them. What you trained is yours to name and delete.")
    problems(session.problems)
    filters(session)
    entries = shelf.found(session.state, visitor())
    above = st.container()  # filled when the table has said what is ticked
    if entries:
        shelf.runs_table(session, entries, visitor())
    else:
        empty_panel("No run is like that. Take a filter away, or train one.", 240)
    with above:
        actions(session)
    disk()
    if session.state.run:
        focus(session.state.run)
        open_run(session.state.run)
    else:
        focus("")


session = page_session("runs", Shelf)
if arrived() and run_in_focus() and not session.state.run:
    session.state = replace(session.state, run=run_in_focus())
try:
    page(session)
except LineageError as error:
    problems([str(error)])
write_address(session)
