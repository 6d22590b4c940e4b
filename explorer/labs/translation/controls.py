"""Task, models and training settings of the translation page."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer import ui
from explorer.errors import LineageError
from explorer.labs.translation.model_picker import loaded_runs, seed_picker
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.tasks.seq2seq.pairs import PairTable, example_pairs, read_pairs
from explorer.ui import visitor_text
from explorer.ui.state.fields import missing_text_message
from explorer.ui.text_picker import draw_paste_or_upload

TASK_CAPTIONS = {
    "reverse": "Reverse: random digits, written from the last to the first.",
    "copy": "Copy: random digits, written again in the same order.",
    "dates": f"Dates: a day between 1950 and 2049 in one of {len(DATE_FORMATS)} formats becomes year, month and day. "
    "In a format with numbers only, the day comes before the month.",
    "pairs": "Your own pairs: the models learn to rewrite each source as its target, character by character.",
}


def settings_row(session: ui.PageSession[TranslationState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the choice of task, models and seed, and the training settings. `views`: the run views of the page."""
    loaded = loaded_runs(views, session.state.variants)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
            session,
            "task",
            st.segmented_control,
            update=lambda state, task: state.with_task(task, visitor_text.own_text("pairs")),
        )
        ui.bind_widget(session, "who", st.pills, selection_mode="multi")
        with st.popover("Settings", icon=":material/tune:"):
            if loaded:
                seed_picker(session, next(iter(loaded.values())), "translation.answers", "Seed whose answers are shown")
            settings_popover(session)
    st.caption(TASK_CAPTIONS[session.state.task])
    if session.state.task == "pairs":
        st.markdown(table_text(session.state.table, bool(session.state.text)))
        file_form(session)


def file_form(session: ui.PageSession[TranslationState]) -> None:
    """Draw the form in which a visitor gives pairs; folded once there is a file."""

    def set_text(content: bytes | str, name: str) -> None:
        sha = visitor_text.keep_text(content, name, "pairs", read_pairs)
        session.change(lambda state: state.with_task("pairs", sha))

    def set_safely(content: bytes | str, name: str) -> None:
        session.attempt(lambda: set_text(content, name))

    has_file = bool(session.state.text)
    with st.expander("Your pairs of a source and a target (CSV)", expanded=not has_file):
        st.markdown(
            "A CSV file whose first row is `source,target`, with a pair in each row: 3 to 5,000 pairs, sources and "
            "targets of at most 40 characters, such as a word and its plural. Columns may be separated by commas, "
            "semicolons or tabs. Each source has one target. Upper and lower case are different characters. A source "
            "that you type or pick above becomes part of the URL of this page."
        )
        draw_paste_or_upload(
            session.prefix,
            set_safely,
            field="Paste a table",
            placeholder="source,target\nbaby,babies\nbox,boxes",
            button="Use these pairs",
            what="your table",
            file_type="csv",
        )
        st.download_button(
            "Download an example",
            "source,target\n" + "".join(f"{source},{target}\n" for source, target in example_pairs()),
            "pairs.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )


def drop_missing_file(session: ui.PageSession[TranslationState]) -> None:
    """Show the example, and say why, if the file that the address names cannot be read."""
    try:
        _ = session.state.task_config
        visitor_text.adopt_text("pairs", session.state.text)
    except LineageError as error:
        problem = missing_text_message(error, session.state.text, "table")
        session.state = session.state.without_file()
        ui.show_problems([f"{problem} The example is shown instead."])


def table_text(table: PairTable, has_file: bool) -> str:
    """Return a description of the pairs of a file or of the example."""
    parts = (
        f"The models learn from {len(table.training):,} of them and are tested on the other {len(table.held_out):,}."
    )
    if not has_file:
        return (
            f"Upload or paste your own pairs below. Until then the example is used: {len(table.all_pairs):,} invented "
            f"nouns and their plurals. {parts}"
        )
    new = len(table.new_characters)
    unknown = f" {new:,} of these {'has' if new == 1 else 'have'} a character that training never shows." if new else ""
    return f"Your file has {len(table.all_pairs):,} pairs with different sources. {parts}{unknown}"


def settings_popover(session: ui.PageSession[TranslationState]) -> None:
    """Draw the training settings."""
    if session.state.has_lengths:
        ui.bind_widget(session, "longest", st.number_input)
    ui.bind_widget(session, "seeds", st.number_input)
    ui.bind_widget(session, "steps", st.number_input)
    ui.bind_widget(session, "rate", st.number_input, format="%.4f")
    ui.bind_widget(session, "seed", st.number_input)
    if session.state != session.state.reset():
        ui.reset_button(session)
