"""The sentence that the models are asked about, and the version of the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from explorer.errors import LineageError
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import MAX_URL_TEXT, OWN, TASK_VERSIONS
from explorer.tasks.negation import OUTCOME, VOCABULARY, Negation
from explorer.tasks.own_sentences import OwnSentences
from explorer.tasks.own_tables import read_labelled
from explorer.tokenization.words import Reading, Words
from explorer.ui import visitor_text, wording
from explorer.ui.page_sections import caption, escape_markdown, lead, show_problems
from explorer.ui.state.fields import missing_table_message
from explorer.ui.state.session import PageSession, change
from explorer.ui.state.widgets import bind_widget
from explorer.ui.text_picker import draw_table_form

_LANGUAGE = (
    "This tiny language has {count} sentences. By its grammar, *preserve* keeps nature alive (“sustain”), "
    "*consume* and *destroy* let it collapse, and **not** flips the answer."
)
_VERSION_TEXT = {
    "one “not”": "Each sentence has at most one “not”.",
    "two “not”s": "A second “not” cancels the first one.",
    "“not destroy” held out": "Training never shows “not destroy”; whether a model answers it correctly is the test.",
    OWN: "The models learn your classes from your sentences.",
}

# The fragments of the page that depend on the sentence: only these are redrawn when it changes.
_REDRAW = ("sentence", "verdicts", "insides", "more-insides", "trap")


def language_lead(session: NegationSession) -> None:
    """Draw a sentence about the language of this version of the task, or about the visitor's file."""
    data = session.data
    count = wording.number_word(len(data.sentences))
    lead(file_text(data) if session.experiment.has_file else _LANGUAGE.format(count=count))


def file_text(data: Negation) -> str:
    """Return a description of a file of labelled sentences."""
    hint = data.table.hint if isinstance(data, OwnSentences) else ""
    held_out, classes = len(data.sample("test", 0)), [f"“{escape_markdown(name)}”" for name in data.classes]
    return (
        f"Your file has {len(data.sentences):,} different sentences of the classes {wording.join_words(classes)}. The "
        f"models learn from {len(data.sentences) - held_out:,} of them and are tested on the other {held_out:,}. {hint}"
    )


def version_row(session: NegationSession) -> None:
    """Draw the choice of the version of the task, with a sentence about it."""
    version = session.experiment.version
    missing = version == OWN and not session.experiment.has_file
    example = " Until you give a table, the page shows the sentences of the grammar." * missing
    with st.container(horizontal=True, vertical_alignment="center"):
        bind_widget(
            session,
            "world",
            st.segmented_control,
            shown=version,
            update=lambda lab, name: lab.with_version(name, visitor_text.own_text("sentences")),
            label="Version of the task",
            options=[*TASK_VERSIONS, OWN],
            width="content",
        )
        with st.container(width="stretch"):
            caption(_VERSION_TEXT.get(version or "", "A version with your own settings.") + example)
    if version == OWN:
        draw_file_form(session)


_EXAMPLE_FILE = """text,label
The plot is good.,positive
The plot is not good.,negative
The plot is bad.,negative
The plot is not bad.,positive
The cast is good.,positive
The cast is not good.,negative
The cast is bad.,negative
The cast is not bad.,positive
A good film!,positive
Not a good film.,negative
A bad film!,negative
Not a bad film.,positive
The end is good.,positive
The end is not good.,negative
The end is bad.,negative
The end is not bad.,positive
"""


def draw_file_form(session: PageSession[Any]) -> None:
    """Draw the form in which a visitor gives labelled sentences; folded once there is a file."""
    draw_table_form(
        session,
        "sentences",
        read_labelled,
        lambda lab, sha: lab.with_file(sha),
        title="Your labelled sentences (CSV)",
        explanation="A CSV file whose first row is `text,label`, with one sentence and the name of its class in each "
        "row: 2 to 10 classes, at most 5,000 sentences of at most 40 words. Columns may be separated by commas, "
        "semicolons or tabs. Words are read in lower case and without punctuation. A sentence that you type or "
        "pick above becomes part of the URL of this page.",
        placeholder="text,label\nA good film,positive\nNot good,negative",
        example=_EXAMPLE_FILE,
        expanded=not session.state.has_file,
    )


def drop_missing_file(session: NegationSession) -> None:
    """Show the grammar, and say why, if the file that the address names cannot be read."""
    if not session.experiment.has_file:
        return
    sha = session.experiment.task.text
    try:
        session.data  # noqa: B018
        visitor_text.adopt_text("sentences", sha)
    except LineageError as error:
        problem = missing_table_message(error, sha)
        show_problems([f"{problem} The sentences of the grammar are shown instead."])
        session.state = replace(session.experiment.without_file(), data="own")


def sentence_row(session: NegationSession) -> None:
    """Draw the inputs of the sentence."""
    data, lab = session.data, session.experiment
    if not lab.has_file:
        session.words = draw_sentence_input(session, [s.text for s in data.sentences], _REDRAW)
        return
    held_out = [s for s in data.sentences if s.probability and len(s.text) <= MAX_URL_TEXT]
    held_out.sort(key=lambda s: not s.nots)  # those with a negation first
    examples = [s.text for s in held_out[:_MAX_EXAMPLES]]
    first = (held_out or data.sentences)[0].words
    # Until a sentence is typed, the first example is shown; the address does not contain it.
    session.words = draw_sentence_input(
        session, examples, _REDRAW, data.vocabulary, "or pick one that is held out", first
    )


_MAX_EXAMPLES = 8  # held-out sentences to pick from


def draw_sentence_input(
    session: PageSession[Any],
    sentences: Sequence[str],
    redraw: tuple[str, ...],
    vocabulary: Words = VOCABULARY,
    pick: str = "or pick one: human … nature",
    unasked: tuple[str, ...] = (),
    longest: int = MAX_URL_TEXT,
) -> tuple[str, ...]:
    """Draw the text field and the examples; return the words that are read, by default those of the first sentence.

    session: its state has a field `say`.
    redraw: the fragments that depend on the sentence.
    vocabulary: the words that the models know.
    pick: the label of the sentences to pick from.
    unasked: the words of the sentence until one is typed; without them it is the default of the state.
    longest: the characters of a sentence that are read.
    """
    say = "" if unasked and session.state.say == type(session.state).say else session.state.say
    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(
            session,
            "say",
            st.text_input,
            shown=say,
            update=lambda state, text: replace(state, say=text),
            redraw=redraw,
            placeholder=sentences[0] if sentences else "",
            longest=longest,
            width=330,
        )
        bind_widget(
            session,
            "pick",
            st.pills,
            shown=say if say in sentences else " ".join(unasked) if unasked and not say else None,
            update=lambda state, text: replace(state, say=text),
            redraw=redraw,
            label=pick,
            options={text: text.removeprefix("human ").removesuffix(" nature") for text in sentences},
            width="content",
        )
    if unasked and not say:
        return unasked
    reading, default = vocabulary.read(say), unasked or vocabulary.split(type(session.state).say)
    unread = reading.describe_unread(" ".join(default))
    if vocabulary.unknown and not reading.left_out:  # the answers say which words are read as the unknown one
        unread = "" if reading.tokens else unread
    if unread and vocabulary is VOCABULARY:
        _draw_unread(session, reading, unread, redraw)
    elif unread:
        st.warning(escape_markdown(unread), icon=":material/help:")
    return reading.tokens or default


def _draw_unread(session: PageSession[Any], reading: Reading, unread: str, redraw: tuple[str, ...]) -> None:
    """Draw what is not read, and offer known words that are spelled like the unknown ones."""
    known = f" They know {wording.join_words(['human', 'nature', *OUTCOME, 'not'])}." if reading.unknown else ""
    st.warning(escape_markdown(f"{unread}{known}"), icon=":material/help:")
    similar = [(word, known) for word in reading.unknown[:4] for known in VOCABULARY.similar(word)][:4]
    if not similar:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        caption("Similar spelling:", width="content")
        for word, known in similar:

            def replace_word(word: str = word, known: str = known) -> None:
                change(
                    session, lambda state: replace(state, say=VOCABULARY.replace_word(state.say, word, known)), redraw
                )

            label = escape_markdown(f"{word[:24]} → {known}")
            st.button(label, key=f"near.{word[:24]}.{known}", on_click=replace_word)
