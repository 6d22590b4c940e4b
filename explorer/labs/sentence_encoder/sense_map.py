"""The map of a word in many sentences with the visitor's own ones, and the attention in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer import ui
from explorer.inspection.words import sense_vectors
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import MAX_SENTENCES, SentenceEncoderState, TypedSentences
from explorer.run_store.store import StoredRun
from explorer.tasks.sequence_labelling.homographs import FRAMES, NOUNS, SENSES, SYNONYMS
from explorer.training.record import Record
from explorer.ui.state.fragments import rerun_fragments

HEIGHT = 700
_PART, _MAP = "sentences-map-part", "sentences-map-figure"  # the ui.fragment, and the component in it


def map_section(
    session: ui.PageSession[SentenceEncoderState], views: Mapping[str, ui.RunView], typed: TypedSentences
) -> None:
    """Draw the map and, below it, one sentence."""
    state = session.state
    if state.chosen not in typed.words and typed.words:
        state = session.state = replace(state, chosen=min(typed.words))
    encoder, alone = (views[name] for name in state.variant_names)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "word", st.segmented_control)
        with st.popover("Write your own sentences", icon=":material/edit:"):
            sentence_input(session)
        with st.popover("Encoder", icon=":material/tune:"):
            ui.bind_widget(session, "who", st.segmented_control)
            seeds = dict(enumerate(map(str, encoder.config.seeds)))
            shown = min(state.replica, len(seeds) - 1)
            ui.bind_widget(session, "replica", st.selectbox, shown=shown, options=seeds, width=110)
    ui.show_problems(typed.problems)
    view = alone if state.who == "alone" else encoder
    if view.loaded_run is None:
        ui.untrained_panel({state.who: view}, "The map appears here after training.", HEIGHT)
        return
    run = view.loaded_run
    ui.fragment(session, _PART, lambda: _draw_map(session, run, typed))


def _draw_map(session: ui.PageSession[SentenceEncoderState], run: StoredRun | Record, typed: TypedSentences) -> None:
    """Draw what depends on the visitor's selections in the map; only this part is drawn again for them."""
    state = session.state
    replica, words = min(state.replica, run.config.replicas - 1), tuple(typed.words.items())

    def draw_again_after_event() -> None:
        if _apply_events(session):
            rerun_fragments((_PART,))

    ui.show(
        "sentences-map",
        ui.Call(sense_vectors.read_sentences, run, state.who == "untrained", replica, state.word, words),
        map_view,
        state,
        typed,
        waiting="The encoder reads the sentences …",
        height=HEIGHT,
        events={_MAP: ("layer", "chosen")},
        on_event=draw_again_after_event,
    )


def _apply_events(session: ui.PageSession[SentenceEncoderState]) -> bool:
    """Apply the visitor's last selections in the map, and update the URL; return whether anything has changed."""
    before = session.state
    layer, chosen = ui.pop_event(_MAP, "layer"), ui.pop_event(_MAP, "chosen")
    if isinstance(layer, int) and 0 <= layer <= 2:
        session.change(lambda s: replace(s, layer=-1 if layer == s.layers else layer))
    if isinstance(chosen, int) and 0 <= chosen < min(len(session.state.lines), MAX_SENTENCES):
        session.change(lambda s: replace(s, chosen=chosen))
    if session.state != before:
        ui.write_url(session)
    return session.state != before


def map_view(
    document: ui.Document, found: sense_vectors.SenseReading, state: SentenceEncoderState, typed: TypedSentences
) -> None:
    """Write the map of the word, and the attention in the chosen sentence."""
    shown, layers = len(state.lines[:MAX_SENTENCES]), len(found.map.points)
    data = _map_data(found, state, typed) | {
        "chosen": min(state.chosen, shown - 1),
        "layer": layers - 1 if state.layer < 0 else min(state.layer, layers - 1),
        "file": f"senses-{state.word}-{state.who}",
    }
    document.component("sense_map", data, _MAP)
    what = (
        "the predicted sense with its probability"
        if state.task == "gloss"
        else "the nearer synonym with its cosine similarity"
    )
    document.caption(
        "Every point is the word in one new sentence, on the two principal components of this layer for this seed. "
        f"Next to each sentence: {what}."
    )
    if state.who != "alone":
        _write_sentence(document, found, state)


def _map_data(found: sense_vectors.SenseReading, state: SentenceEncoderState, typed: TypedSentences) -> dict[str, Any]:
    """Return the points and the typed sentences as `static/components/sense_map/view.js` takes them."""
    word, drawn, rows = state.word, found.map, []
    for i, line in enumerate(state.lines[:MAX_SENTENCES]):
        says = "" if i in typed.words else "left out"
        if i in typed.words and (answers := found.readings[i].answers):
            topic, amount = answers[0]
            says = findings.format_sense(state.task == "gloss", topic, SYNONYMS[topic], amount)
        words, place = typed.words.get(i, line.split()), found.positions.get(i, -1)
        rows.append({"words": list(words), "place": place, "readable": i in typed.words, "says": says})
    return {
        "word": word,
        "topics": list(SENSES[word]),
        "synonyms": [SYNONYMS[topic] for topic in SENSES[word]],
        "names": ["layer 0 (embeddings)", *(f"layer {i}" for i in range(1, len(drawn.points)))],
        "points": _round_values(drawn.points),
        "senses": [SENSES[word].index(topic) for topic in drawn.senses],
        "clear": [kind != word for kind in drawn.kinds],
        "said": list(drawn.sentences),
        "own": _round_values(drawn.typed_points),
        "of": [i for i, each in found.homographs.items() if each == word],
        "shares": _round_values(drawn.shares),
        "cosines": _round_values(found.cosines),
        "kin": list(found.homographs.values()),
        "at": list(found.homographs),
        "sentences": rows,
    }


def _write_sentence(document: ui.Document, found: sense_vectors.SenseReading, state: SentenceEncoderState) -> None:
    document.finding("Attention in one sentence")
    reading = found.readings.get(state.chosen)
    if reading is None:
        document.text("The selected sentence cannot be read. Select another one above.")
        return
    data = {
        "words": list(reading.words),
        "weights": _round_values(reading.weights),
        "vectors": _round_values(reading.vectors),
        "names": [f"layer {i}" for i in range(len(reading.vectors))],
        "word": found.positions.get(state.chosen, 0),
        "file": f"sentence-{state.chosen + 1}-{state.who}",
    }
    document.component("word_attention", data, "sentences-look")
    document.caption(
        f"Sentence {state.chosen + 1}: “{' '.join(reading.words)}”. Left: attention weights of one head; rows are "
        "query words, columns are key words. Right: the vector of the selected word at every layer."
    )


def _round_values(values: ndarray) -> object:
    return np.round(values.astype(float), 3).tolist()


def sentence_input(session: ui.PageSession[SentenceEncoderState]) -> None:
    """Draw the field for the visitor's sentences and the vocabulary of the language."""
    state = session.state
    ui.bind_widget(
        session,
        "say",
        st.text_area,
        shown="\n".join(state.lines),
        update=SentenceEncoderState.with_sentences,
        height=282,
    )
    st.button(
        "Back to the examples",
        icon=":material/undo:",
        disabled=not state.say,
        on_click=lambda: session.change(lambda s: replace(s, say="", chosen=0)),
    )
    st.markdown("**Vocabulary**")
    for topic, nouns in NOUNS.items():
        word = next(word for word, topics in SENSES.items() if topic in topics)
        st.markdown(f"**{word}: {topic}**, synonym “{SYNONYMS[topic]}”. {', '.join(nouns)}")
    ui.caption("The last two of each eight nouns never stand next to the word with two senses in training.")
    small = sorted({word for frame in FRAMES for word in frame} - {"X", "A", "B"})
    st.markdown(f"Function words: {ui.join_words(small)}.")
