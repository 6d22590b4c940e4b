"""One recurrent network, unrolled over a visitor's input, in four shapes of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.catalogue import MODELS
from explorer.errors import InvalidSetting, LineageError, UnknownWords, shorten
from explorer.labs.sequence_shapes import unrolled_findings as findings
from explorer.labs.sequence_shapes.state import MAX_CHARACTERS, SequenceShapesState
from explorer.run_store import store
from explorer.tasks import negation
from explorer.tasks.seq2seq.config import source_ids, target_ids, target_text
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.sequence_labelling import homographs
from explorer.tasks.sequence_labelling.word_sense import SENSE_LABELS, WordSenseConfig
from explorer.training.config import RunConfig
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession, fragment
from explorer.ui.state.widgets import bind_widget, reset_button

if TYPE_CHECKING:
    from explorer.inspection.recurrent.unrolled import UnrolledNetwork

HEIGHT = 400
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
    read: Callable[[str, int], UnrolledNetwork]  # text and seed; raises LineageError
    finding: Callable[[UnrolledNetwork, str], str]


def unrolled_section(session: PageSession[SequenceShapesState]) -> None:
    """Draw the controls, the unrolled network and its formula."""
    st.header("The same net, four shapes", anchor=False)
    fragment(session, _PART, lambda: _draw_fragment(session))
    st.latex(r"h_t = f(W_{xh}\,x_t,\; W_{hh}\,h_{t-1}) \qquad y_t = \mathrm{softmax}(W_{hy}\,h_t)")
    st.caption("Without biases. f is tanh of the sum in the RNN; a GRU has three such sums, so its matrices are three.")


def _draw_fragment(session: PageSession[SequenceShapesState]) -> None:
    state = session.state
    bind_widget(session, "shape", st.segmented_control, redraw=(_PART,))
    example = EXAMPLES[state.answers if state.shape == "each" else state.shape]
    config = store.find(example.run).config
    replica = min(state.replica, config.replicas - 1)
    _controls(session, example, config, replica)
    explanation(example.description)
    text = getattr(state, example.field)
    jobs = {"net": (("shapes-net", example.run, example.field, text, replica), partial(example.read, text, replica))}
    draw = partial(_draw, example, text, config, replica)
    result_section(f"shapes-net-{example.field}", jobs, draw, "The net reads …", HEIGHT)


def _controls(session: PageSession[SequenceShapesState], example: Example, config: RunConfig, replica: int) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if state.shape == "each":
            bind_widget(session, "answers", st.segmented_control, redraw=(_PART,))
        bind_widget(
            session,
            example.field,
            st.text_input,
            redraw=(_PART,),
            label=example.label,
            longest=example.max_characters,
            width=360,
        )
        seeds = dict(enumerate(map(str, config.seeds)))
        bind_widget(session, "replica", st.selectbox, shown=replica, redraw=(_PART,), options=seeds, width=110)
        reset_button(session, "fresh")


def _draw(
    example: Example,
    text: str,
    config: RunConfig,
    replica: int,
    document: Document,
    results: Mapping[str, UnrolledNetwork],
) -> None:
    net, row = results["net"], MODELS[config.model_name]
    document.finding(example.finding(net, text))
    title = f"{row.title}, seed {config.seeds[replica]}"
    data = component_data(net, title, row.colour, f"shapes-{example.field}")
    document.component("unrolled_rnn", data, key="shapes-net-figure")
    if example.field == "senses":
        right = [value for value in store.find(example.run).card.metrics["sense"].values if value is not None]
        document.caption(findings.senses_caption(right))


def component_data(net: UnrolledNetwork, title: str, colour: str, file: str) -> dict[str, object]:
    """Return the data of the component."""
    steps = [
        {
            "input": findings.visible_token(step.reads),
            "used": step.used,
            "top": [[findings.visible_token(label), round(p, 5)] for label, p in step.top_answers],
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


def _read_negation(text: str, replica: int) -> UnrolledNetwork:
    words = _split_words(negation.VOCABULARY.split, text)
    from explorer.inspection.load_model import load_model
    from explorer.inspection.recurrent.unrolled import unroll_classifier

    return unroll_classifier(load_model(store.find("negation-single-rnn")), replica, words)


def _read_senses(text: str, replica: int) -> UnrolledNetwork:
    words = _split_words(homographs.VOCABULARY.split, text)
    from explorer.inspection.load_model import load_model
    from explorer.inspection.recurrent.unrolled import unroll_tagger

    return unroll_tagger(
        load_model(store.find("gloss-gru")), replica, words, WordSenseConfig().vocabulary, SENSE_LABELS
    )


def _read_letters(text: str, replica: int) -> UnrolledNetwork:
    ids, tokens = _encode_characters(text)
    from explorer.inspection.load_model import load_model
    from explorer.inspection.recurrent.unrolled import unroll_language_model

    return unroll_language_model(load_model(store.find("text-rnn")), replica, ids, tokens)


def _generate(text: str, replica: int) -> UnrolledNetwork:
    ids, tokens = _encode_characters(text)
    from explorer.inspection.load_model import load_model
    from explorer.inspection.recurrent.unrolled import unroll_generation

    return unroll_generation(load_model(store.find("text-rnn")), replica, ids[0], tokens, GENERATED_CHARACTERS)


def _read_date(text: str, replica: int) -> UnrolledNetwork:
    source = source_ids(DatesConfig(), text)
    from explorer.inspection.load_model import load_model
    from explorer.inspection.recurrent.unrolled import unroll_translation

    return unroll_translation(load_model(store.find("dates-vector")), replica, DatesConfig(), source)


def _split_words(split: Callable[[str], tuple[str, ...]], text: str) -> tuple[str, ...]:
    """Split a text into words. Raises SentenceError, or InvalidSetting that names similar words."""
    try:
        return split(text)
    except UnknownWords as error:
        near = list(dict.fromkeys(word for words in error.nearest.values() for word in words))
        raise InvalidSetting(f"{error} {', '.join(near)}.") from error


def _encode_characters(text: str) -> tuple[list[int], tuple[str, ...]]:
    """Return the ids of the characters and the vocabulary. Raises InvalidSetting."""
    from explorer.tokenization.text import from_json

    tokenizer = from_json(store.find("text-rnn").tokenizer)
    if not text:
        raise InvalidSetting("There is no character here. Give at least one: letters, spaces, punctuation.")
    if unknown := tokenizer.find_unknown(text):
        raise InvalidSetting(
            f"This net never saw “{shorten(unknown[0])}”: it learned from Shakespeare’s plays. Give letters without "
            "accents, spaces and common punctuation."
        )
    return tokenizer.encode(text).tolist(), tokenizer.tokens


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
        "The net reads “human … nature” and is asked once, at the end: sustain or collapse? In pale ink stands what "
        "it would have said before.",
        200,
        _read_negation,
        lambda net, text: findings.many_to_one_finding(net, negation.VOCABULARY.split(text)),
    ),
    "senses": Example(
        "gloss-gru",
        "senses",
        "Sentence",
        "Every word is answered as it is read: most mean themselves, a bank or a bat has two senses. What comes later "
        "in the sentence cannot help an answer that was given before. Try “the bank is near the water and the boat”.",
        300,
        _read_senses,
        lambda net, _: findings.senses_finding(net),
    ),
    "letters": Example(
        "text-rnn",
        "letters",
        "Text",
        "Every character is answered with the one that should come next. This is how a language model is trained.",
        MAX_CHARACTERS,
        _read_letters,
        lambda net, _: findings.letters_finding(net),
    ),
    "other": Example(
        "dates-vector",
        "date",
        "Date",
        "One net reads the whole date and says nothing. Its last state becomes one vector. Another net starts from it "
        "and is given it at every step, through C; it writes in an order and a length of its own.",
        50,
        _read_date,
        lambda net, text: findings.unaligned_finding(net, _correct_date(text)),
    ),
    "from-one": Example(
        "text-rnn",
        "first",
        "First character",
        f"One character goes in. Then the net reads its own likeliest answer, {GENERATED_CHARACTERS} times; nothing "
        "is drawn by lot.",
        1,
        _generate,
        lambda net, _: findings.one_to_many_finding(net),
    ),
}
