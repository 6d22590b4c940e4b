"""Task, models and settings of the translation page, and the choice of a model and its seed in its sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from explorer import ui
from explorer.errors import LineageError
from explorer.experiments.model_variant import ModelVariant
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.tasks.seq2seq.pairs import PairTable, example_pairs, read_pairs
from explorer.ui import visitor_text
from explorer.ui.state.fields import missing_table_message
from explorer.ui.text_picker import draw_table_form


def has_attention(variant: ModelVariant) -> bool:
    """Return whether the decoder of a variant attends to the source."""
    return variant.model != "encoder_decoder" or variant.settings.get("attention", "none") != "none"


def selected_variant(state: TranslationState, loaded: Mapping[str, ui.Run]) -> str:
    """Return the selected variant; by default the first with attention, else the first."""
    if state.inside in loaded:
        return state.inside
    return next((name for name in loaded if has_attention(state.variants[name])), next(iter(loaded)))


def model_picker(session: ui.PageSession[TranslationState], loaded: Mapping[str, ui.Run], key: str) -> str:
    """Draw the choice of model and seed; return the name of the variant. `key` begins the keys of both widgets."""
    name, variants = selected_variant(session.state, loaded), session.state.variants
    with st.container(horizontal=True, vertical_alignment="top"):
        titles = {one: variants[one].title for one in loaded}
        ui.bind_widget(
            session,
            "inside",
            st.selectbox,
            key=f"{key}-inside",
            shown=name,
            update=lambda s, new: replace(s, inside=new, at=-1),
            options=titles,
            width=280,
        )
        seed_picker(session, loaded[name], key)
    return name


def seed_picker(session: ui.PageSession[TranslationState], run: ui.Run, key: str, label: str = "Seed") -> None:
    """Draw the choice of the seed."""
    ui.bind_widget(
        session,
        "replica",
        st.selectbox,
        key=f"{key}-replica",
        shown=selected_replica(session.state, run),
        options=dict(enumerate(map(str, run.config.seeds))),
        label=label,
        width=110 if label == "Seed" else "stretch",
    )


def selected_replica(state: TranslationState, run: ui.Run) -> int:
    """Return the selected replica, within those of the run."""
    return min(state.replica, run.config.replicas - 1)


TASK_CAPTIONS = {
    "reverse": "Reverse: random digits, written from the last to the first.",
    "copy": "Copy: random digits, written again in the same order.",
    "dates": f"Dates: a day between 1950 and 2049 in one of {len(DATE_FORMATS)} formats becomes year, month and day. "
    "In a format with numbers only, the day comes before the month.",
    "pairs": "Your own pairs: the models learn to rewrite each source as its target, character by character.",
}


def settings_row(session: ui.PageSession[TranslationState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the choice of task, models and seed, and the training settings."""
    loaded = ui.loaded_runs(views)
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
    ui.caption(TASK_CAPTIONS[session.state.task])
    if session.state.task == "pairs":
        st.markdown(table_text(session.state.table, bool(session.state.text)))
        draw_table_form(
            session,
            "pairs",
            read_pairs,
            lambda state, sha: state.with_task("pairs", sha),
            title="Your pairs of a source and a target (CSV)",
            explanation="A CSV file whose first row is `source,target`, with a pair in each row: 3 to 5,000 pairs, "
            "sources and targets of at most 40 characters, such as a word and its plural. Columns may be separated by "
            "commas, semicolons or tabs. Each source has one target. Upper and lower case are different characters. A "
            "source that you type or pick above becomes part of the URL of this page.",
            placeholder="source,target\nbaby,babies\nbox,boxes",
            example="source,target\n" + "".join(f"{source},{target}\n" for source, target in example_pairs()),
            expanded=not session.state.text,
        )


def drop_missing_file(session: ui.PageSession[TranslationState]) -> None:
    """Show the example, and say why, if the file that the address names cannot be read."""
    try:
        _ = session.state.task_config
        visitor_text.adopt_text("pairs", session.state.text)
    except LineageError as error:
        problem = missing_table_message(error, session.state.text)
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
    for name in ("seeds", "steps"):
        ui.bind_widget(session, name, st.number_input)
    ui.bind_widget(session, "rate", st.number_input, format="%.4f")
    ui.bind_widget(session, "seed", st.number_input)
    ui.reset_button(session)
