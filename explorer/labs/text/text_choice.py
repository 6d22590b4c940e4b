"""The text of the page, its tokens and its rows."""

from __future__ import annotations

import streamlit as st

from explorer import ui
from explorer.errors import LineageError
from explorer.inspection.language import line_overlap
from explorer.labs.text.state import TextLab
from explorer.tasks.text import corpora
from explorer.tasks.text.config import SPLITS, TextConfig
from explorer.ui import visitor_text
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.widgets import setting_widget
from explorer.ui.text_picker import draw_corpus_row, draw_missing_corpus
from explorer.ui.wording import capitalize, percentage

TOKENS = {"char": "Characters", "word": "Words", "bpe": "BPE", "bytes": "Bytes"}
ROWS = {"blocks": "blocks of the text", "sentences": "lines", "prefixes": "prefixes of lines"}


def text_section(session: ExperimentSession[TextLab]) -> None:
    """Draw the choice of the text and its tokenizer."""
    lab = session.experiment
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width="content"):
            draw_corpus_row(session)
        ui.bind_widget(
            session,
            "tokenizer",
            st.segmented_control,
            shown=lab.task.tokenizer,
            update=TextLab.with_tokenizer,
            label="Tokens",
            options={name: TOKENS[name] for name in lab.tokenizers},
        )
    st.caption(ui.escape_markdown(visitor_text.CORPUS_DESCRIPTIONS[lab.corpus]))
    if not corpora.is_corpus_available(lab.corpus):
        draw_missing_corpus(session, "The text itself is not on this machine yet. What is shown was trained elsewhere.")
    elif lab.awaiting_text:
        st.caption("The previous text is shown until you paste or upload a text; training on it takes some minutes.")
    elif lab.corpus == "own":
        try:
            corpora.load_text(lab.task)
        except LineageError as error:
            ui.show_problems([str(error)])


def lines_section(task: TextConfig) -> None:
    """Draw how many held-out lines also occur in the training part, if the text is available."""
    if corpora.is_available(task):
        ui.show("text-lines", ui.Call(_measure_lines, task), lines_view, waiting="", height=24, pool="quick")


def _measure_lines(task: TextConfig) -> tuple[line_overlap.LineOverlap | None, bool]:
    """Return the lines that both parts have, and whether the held-out part is the end of a sorted text."""
    try:
        overlap = line_overlap.measure_line_overlap(task)
        return overlap, task.split == "end" and line_overlap.is_sorted(corpora.load_text(task))
    except LineageError:  # where the rows cannot be made, the training itself says why
        return None, False


def lines_view(document: ui.Document, found: tuple[line_overlap.LineOverlap | None, bool]) -> None:
    """Write the note on the lines as a caption."""
    document.caption(lines_note(*found))


def lines_note(overlap: line_overlap.LineOverlap | None, is_sorted: bool) -> str:
    """Return how many held-out lines training has read, and whether a sorted text makes the held-out end special."""
    sentences = []
    if overlap and overlap.held_out:
        lines = f"{overlap.held_out:,} held-out line{'s' * (overlap.held_out != 1)}"
        sentence = f"{percentage(overlap.repeated_share)} of the {lines} also occur in the training part"
        if overlap.long_held_out:
            share = percentage(overlap.long_repeated_share)
            sentence += f"; of the {overlap.long_held_out:,} with more than 20 characters, {share}"
        sentences.append(f"{capitalize(sentence)}.")
    if is_sorted:
        sentences.append("The lines of this text are sorted, so its held-out end differs from the training part.")
    return " ".join(sentences)


def text_settings(session: ExperimentSession[TextLab]) -> None:
    """Draw the choice of a tokenizer without included runs, of the rows, and of the held-out part."""
    others = {
        name: f"{title} (needs training)" for name, title in TOKENS.items() if name not in session.experiment.tokenizers
    }
    if others:
        ui.bind_widget(
            session,
            "other_tokenizer",
            st.selectbox,
            shown=None,
            update=TextLab.with_tokenizer,
            label="Other tokenizers",
            options=others,
            placeholder="Choose one, then train",
        )
    if session.experiment.task.tokenizer != "char":
        setting_widget(session, "vocabulary", section="text")
    setting_widget(session, "context", section="text")
    rows = session.experiment.task.rows
    ui.bind_widget(
        session,
        "rows",
        st.selectbox,
        shown=rows,
        update=lambda lab, rows: lab.with_text_settings(rows=rows, split=SPLITS[rows][0]),
        label="Rows",
        options=ROWS,
    )
    ui.bind_widget(
        session,
        "split",
        st.selectbox,
        shown=session.experiment.task.split,
        update=lambda lab, split: lab.with_text_settings(split=split),
        label="Held-out part",
        options=SPLITS[rows],
        help="“windows” and “pairs” leak training text into the held-out part; see the page Text and tokens.",
    )
    for name in ("held_out", "test", "training_share"):
        setting_widget(session, name, section="text")
    if session.experiment.task.split == "sentences" and session.experiment.task.tokenizer != "char":
        setting_widget(session, "tokenizer_from_training", section="text")
    setting_widget(session, "lower", section="text")
    if session.experiment.corpus in ("repeats", "brackets", "toy"):
        setting_widget(session, "size", section="text")
        setting_widget(session, "corpus_seed", section="text")
