"""One recurrent network, unrolled over a visitor's input, in four shapes of tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from explorer import ui
from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.inspection import load_model
from explorer.inspection.recurrent import unrolled
from explorer.labs.sequence_shapes import findings as findings
from explorer.labs.sequence_shapes.state import MAX_CHARACTERS, SequenceShapesState
from explorer.run_store import store
from explorer.tasks import negation
from explorer.tasks.seq2seq.config import read_source, source_ids, target_ids, target_text
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.sequence_labelling import homographs
from explorer.tasks.sequence_labelling.word_sense import SENSE_LABELS, WordSenseConfig
from explorer.tokenization.text import Tokenizer, from_json
from explorer.tokenization.words import Reading, read_characters
from explorer.training.config import RunConfig
from explorer.ui.wording import visible_whitespace

GENERATED_CHARACTERS = 20
_PART = "shapes-net"


@dataclass(frozen=True)
class Example:
    """One task: a run, the field of the state that it reads, and how the network and the finding are computed."""

    run: str
    field: str  # field of the state with the typed input
    label: str
    description: str  # which inputs and outputs are used
    max_characters: int
    keep: Callable[[str], Reading]  # what the network can read of a text
    read: Callable[[str, int], unrolled.UnrolledNetwork]  # a text that can be read, and the seed; raises LineageError
    finding: Callable[[unrolled.UnrolledNetwork, str], tuple[str, str]]  # a headline, and details


def unrolled_section(session: ui.PageSession[SequenceShapesState]) -> None:
    """Draw the controls and the unrolled network."""
    ui.fragment(session, _PART, lambda: _draw_fragment(session))


def _draw_fragment(session: ui.PageSession[SequenceShapesState]) -> None:
    state = session.state
    ui.bind_widget(session, "shape", st.segmented_control, redraw=(_PART,))
    example = EXAMPLES[state.answers if state.shape == "each" else state.shape]
    config = store.find(example.run).config
    replica = min(state.replica, config.replicas - 1)
    _controls(session, example, config, replica)
    reading, default = example.keep(getattr(state, example.field)), getattr(SequenceShapesState(), example.field)
    text = reading.text or default
    ui.show_problems(filter(None, [reading.describe_unread(default)]))
    call = ui.Call(example.read, text, replica)
    name, waiting = f"shapes-net-{example.field}", "The network reads …"
    ui.show(name, call, unrolled_view, example, text, config, replica, waiting=waiting, height=400)
    ui.caption(example.description)


def _controls(session: ui.PageSession[SequenceShapesState], example: Example, config: RunConfig, replica: int) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if state.shape == "each":
            ui.bind_widget(session, "answers", st.segmented_control, redraw=(_PART,))
        ui.bind_widget(
            session,
            example.field,
            st.text_input,
            redraw=(_PART,),
            label=example.label,
            longest=example.max_characters,
            width=360,
        )
        seeds = dict(enumerate(map(str, config.seeds)))
        ui.bind_widget(session, "replica", st.selectbox, shown=replica, redraw=(_PART,), options=seeds, width=110)
        ui.reset_button(session, "fresh")


def unrolled_view(
    document: ui.Document, net: unrolled.UnrolledNetwork, example: Example, text: str, config: RunConfig, replica: int
) -> None:
    """Write the finding of the example, and the component with the unrolled network."""
    row = MODELS[config.model_name]
    headline, details = example.finding(net, text)
    document.finding(headline)
    title = f"{row.title}, seed {config.seeds[replica]}"
    data = component_data(net, title, row.colour, f"shapes-{example.field}")
    document.component("unrolled_rnn", data, key="shapes-net-figure")
    document.text(details)
    if example.field == "senses":
        right = [value for value in store.find(example.run).card.metrics["sense"].values if value is not None]
        document.caption(findings.senses_caption(right))


def component_data(net: unrolled.UnrolledNetwork, title: str, colour: str, file: str) -> dict[str, object]:
    """Return the data of the component."""
    steps = [
        {
            "input": visible_whitespace(step.reads),
            "used": step.used,
            "top": [  # characters, or labels of several words
                [label if len(label) > 1 else visible_whitespace(label), round(p, 5)] for label, p in step.top_answers
            ],
            "state": [round(float(value), 3) for value in step.state],
            "fed_back": step.fed_back,
        }
        for step in net.steps
    ]
    return {
        "steps": steps,
        "weights": [vars(each) for each in net.weights],
        "title": title,
        "colour": colour,
        "file": file,
    }


# ---- examples; torch is imported with the first one


def _load(run: str) -> load_model.LoadedModel:
    return load_model.load_model(store.find(run))


def _read_negation(text: str, replica: int) -> unrolled.UnrolledNetwork:
    return unrolled.unroll_classifier(_load("negation-single-rnn"), replica, negation.VOCABULARY.split(text))


def _read_senses(text: str, replica: int) -> unrolled.UnrolledNetwork:
    words, vocabulary = homographs.VOCABULARY.split(text), WordSenseConfig().vocabulary
    return unrolled.unroll_tagger(_load("gloss-gru"), replica, words, vocabulary, SENSE_LABELS)


def _read_letters(text: str, replica: int) -> unrolled.UnrolledNetwork:
    tokenizer = _tokenizer()
    ids = tokenizer.encode(text).tolist()
    return unrolled.unroll_language_model(_load("text-rnn"), replica, ids, tokenizer.tokens)


def _generate(text: str, replica: int) -> unrolled.UnrolledNetwork:
    tokenizer = _tokenizer()
    first = tokenizer.encode(text).tolist()[0]
    return unrolled.unroll_generation(_load("text-rnn"), replica, first, tokenizer.tokens, GENERATED_CHARACTERS)


def _read_date(text: str, replica: int) -> unrolled.UnrolledNetwork:
    source = source_ids(DatesConfig(), text)
    return unrolled.unroll_translation(_load("dates-vector"), replica, DatesConfig(), source)


def _tokenizer() -> Tokenizer:
    return from_json(store.find("text-rnn").tokenizer)


def _keep_characters(text: str) -> Reading:
    """Return the characters that the network saw in Shakespeare’s plays, and the others."""
    return read_characters(text, _tokenizer().tokens, MAX_CHARACTERS)


def _correct_date(text: str) -> str | None:
    """Return the correct translation of a date; None if the text is no date."""
    try:
        right = target_ids(DatesConfig(), source_ids(DatesConfig(), text))
    except LineageError:
        return None
    return None if right is None else target_text(DatesConfig(), right)


EXAMPLES = {
    "one": Example(
        "negation-single-rnn",
        "ends",
        "Sentence",
        "The network reads a sentence; only its last output is used: sustain or collapse? Unused outputs are pale.",
        200,
        negation.VOCABULARY.read,
        _read_negation,
        lambda net, text: findings.many_to_one_finding(net, negation.VOCABULARY.split(text)),
    ),
    "senses": Example(
        "gloss-gru",
        "senses",
        "Sentence",
        "Every word is tagged when it is read; words such as “bank” and “bat” have two senses. Later words cannot "
        "change an earlier output. Try “the bank is near the water and the boat”.",
        300,
        homographs.VOCABULARY.read,
        _read_senses,
        lambda net, _: findings.senses_finding(net),
    ),
    "letters": Example(
        "text-rnn",
        "letters",
        "Text",
        "At every character the network predicts the next one. This is how a language model is trained.",
        MAX_CHARACTERS,
        _keep_characters,
        _read_letters,
        lambda net, _: findings.letters_finding(net),
    ),
    "other": Example(
        "dates-vector",
        "date",
        "Date",
        "An encoder reads the whole date without an output. Its last state becomes one vector, which the decoder "
        "receives at every step (through C). The output has its own order and length.",
        50,
        partial(read_source, DatesConfig()),
        _read_date,
        lambda net, text: findings.unaligned_finding(net, _correct_date(text)),
    ),
    "from-one": Example(
        "text-rnn",
        "first",
        "First character",
        f"The network reads one character, then its own most likely output, {GENERATED_CHARACTERS} times. Nothing is "
        "sampled.",
        1,
        _keep_characters,
        _generate,
        lambda net, _: findings.one_to_many_finding(net),
    ),
}
