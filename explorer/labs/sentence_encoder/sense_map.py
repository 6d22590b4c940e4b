"""The map of a word in many sentences with the visitor's own ones, and the attention in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import MAX_SENTENCES, Kind, SentenceEncoderState, TypedSentences
from explorer.tasks.sequence_labelling.homographs import FRAMES, NOUNS, SENSES, SYNONYMS
from explorer.tasks.sequence_labelling.word_sense import WordSenseConfig
from explorer.ui.components.base import pop_event
from explorer.ui.document import Document
from explorer.ui.page_sections import show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, write_url
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.ui.wording import join_words

HEIGHT = 700
_MAP = "sentences-map-figure"


@dataclass(frozen=True, eq=False)
class SenseMap:
    """The data of both components for one seed."""

    map: dict[str, object]
    readings: dict[int, dict[str, object]]  # by sentence


def map_section(
    session: PageSession[SentenceEncoderState],
    views: Mapping[str, RunView],
    typed: TypedSentences,
) -> None:
    """Draw the map and, below it, one sentence."""
    state = session.state
    if state.chosen not in typed.words and typed.words:
        state = session.state = replace(state, chosen=min(typed.words))
    encoder, alone = (views[name] for name in state.variant_names)
    _controls(session, encoder)
    with st.popover("Write your own sentences", icon=":material/edit:"):
        sentence_input(session)
    show_problems(typed.problems)
    view = alone if state.who == "alone" else encoder
    if view.loaded_run is None:
        untrained_panel({state.who: view}, "The map appears here after training.", HEIGHT)
        return
    replica = min(state.replica, view.config.replicas - 1)
    cache_key = (*view.cache_key, state.who, replica, state.word, tuple(sorted(typed.words.items())))
    read = ("sentences-map", *cache_key), partial(_read_sentences, view, state.who, replica, state.word, typed)

    def requested_map() -> Mapping[str, Request[SenseMap]]:
        _handle_component_events(session)
        return {"map": read}

    result_section(
        "sentences-map",
        requested_map,
        lambda document, results: _draw(session.state, typed, document, results["map"]),  # the state after the events
        "The encoder reads the sentences …",
        HEIGHT,
        events={_MAP: ("layer", "chosen")},
    )


def _handle_component_events(session: PageSession[SentenceEncoderState]) -> None:
    """Apply the visitor's last selections in the map. Only its fragment is rerun; the URL is updated."""
    layer = pop_event(_MAP, "layer")
    if isinstance(layer, int) and 0 <= layer <= 2:
        session.change(lambda s: replace(s, layer=-1 if layer == s.layers else layer))
    chosen = pop_event(_MAP, "chosen")
    if isinstance(chosen, int) and 0 <= chosen < min(len(session.state.lines), MAX_SENTENCES):
        session.change(lambda s: replace(s, chosen=chosen))
    if layer is not None or chosen is not None:
        write_url(session)


def _controls(session: PageSession[SentenceEncoderState], view: RunView) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "word", st.segmented_control)
        bind_widget(session, "who", st.segmented_control)
        seeds = dict(enumerate(map(str, view.config.seeds)))
        bind_widget(
            session, "replica", st.selectbox, shown=min(state.replica, len(seeds) - 1), options=seeds, width=110
        )


def _read_sentences(view: RunView, encoder_kind: Kind, replica: int, word: str, typed: TypedSentences) -> SenseMap:
    """Run one seed on all sentences. Raises DamagedRun."""
    from explorer.inspection.load_model import load_model
    from explorer.inspection.words import sense_vectors
    from explorer.training.config import with_settings
    from explorer.training.model_factory import build_model

    config = view.config
    if encoder_kind == "untrained":
        model = build_model(with_settings(config, {"replicas": 1, "seed": config.seeds[replica]})).requires_grad_(False)
    else:
        assert view.loaded_run is not None
        model = load_model(view.loaded_run).single_replica(replica)
    positions = {
        i: places[0] for i, words in typed.words.items() if (places := sense_vectors.homograph_positions(words))
    }
    homographs = {i: sense_vectors.homograph_of(typed.words[i][place]) for i, place in positions.items()}
    selected = [i for i in positions if homographs[i] == word]
    word_map = sense_vectors.sense_map(model, word, [(typed.words[i], positions[i]) for i in selected])
    cosines = sense_vectors.cosines_between(model, [(typed.words[i], place) for i, place in positions.items()])
    readings = {i: sense_vectors.read_sentence(model, config, words) for i, words in typed.words.items()}
    gloss = isinstance(config.task, WordSenseConfig)
    data: dict[str, object] = {
        "word": word,
        "topics": list(SENSES[word]),
        "synonyms": [SYNONYMS[topic] for topic in SENSES[word]],
        "names": layer_names(word_map.points.shape[0]),
        "points": _round_values(word_map.points, 3),
        "senses": [SENSES[word].index(topic) for topic in word_map.senses],
        "clear": [kind != word for kind in word_map.kinds],
        "said": list(word_map.sentences),
        "own": _round_values(word_map.typed_points, 3),
        "of": selected,
        "shares": _round_values(word_map.shares, 3),
        "cosines": _round_values(cosines, 3),
        "kin": list(homographs.values()),
        "at": list(homographs),
        "places": positions,
        "says": {
            i: findings.format_sense(gloss, *_with_synonym(each.answers[0]))
            for i, each in readings.items()
            if each.answers
        },
    }
    inside = {
        i: {
            "words": list(each.words),
            "weights": _round_values(each.weights, 3),
            "vectors": _round_values(each.vectors, 3),
        }
        for i, each in readings.items()
    }
    return SenseMap(data, inside)


def _with_synonym(answer: tuple[str, float]) -> tuple[str, str, float]:
    """Return a predicted topic with its synonym and its amount."""
    topic, amount = answer
    return topic, SYNONYMS[topic], amount


def _round_values(values: ndarray, digits: int) -> object:
    return np.round(values.astype(float), digits).tolist()


def layer_names(layers: int) -> list[str]:
    """Return the names of the layers."""
    return ["layer 0 (embeddings)", *(f"layer {i}" for i in range(1, layers))]


def _draw(state: SentenceEncoderState, typed: TypedSentences, document: Document, sense_map: SenseMap) -> None:
    _draw_map(state, typed, document, sense_map)
    if state.who != "alone":
        _draw_sentence(state, document, sense_map)


def _draw_map(state: SentenceEncoderState, typed: TypedSentences, document: Document, sense_map: SenseMap) -> None:
    places, says = sense_map.map["places"], sense_map.map["says"]
    assert isinstance(places, dict) and isinstance(says, dict)
    rows = [
        {
            "words": list(typed.words.get(i, line.split())),
            "place": places.get(i, -1),
            "readable": i in typed.words,
            "says": says.get(i, "") if i in typed.words else "left out",
        }
        for i, line in enumerate(state.lines[:MAX_SENTENCES])
    ]
    names = sense_map.map["names"]
    assert isinstance(names, list)
    data = {name: value for name, value in sense_map.map.items() if name not in ("places", "says")}
    document.component(
        "sense_map",
        {
            **data,
            "sentences": rows,
            "chosen": min(state.chosen, len(rows) - 1),
            "layer": len(names) - 1 if state.layer < 0 else min(state.layer, len(names) - 1),
            "file": f"senses-{state.word}-{state.who}",
        },
        key=_MAP,
    )
    what = (
        "the predicted sense with its probability"
        if state.task == "gloss"
        else "the nearer synonym with its cosine similarity"
    )
    document.caption(
        "Every point is the word in one new sentence, on the two principal components of this layer for this seed. "
        f"Next to each sentence: {what}."
    )


def _draw_sentence(state: SentenceEncoderState, document: Document, sense_map: SenseMap) -> None:
    document.finding("Attention in one sentence")
    reading = sense_map.readings.get(state.chosen)
    if reading is None:
        document.text("The selected sentence cannot be read. Select another one above.")
        return
    places = sense_map.map["places"]
    assert isinstance(places, dict)
    words, vectors = reading["words"], reading["vectors"]
    assert isinstance(words, list) and isinstance(vectors, list)
    document.component(
        "word_attention",
        {
            **reading,
            "names": [f"layer {i}" for i in range(len(vectors))],
            "word": places.get(state.chosen, 0),
            "file": f"sentence-{state.chosen + 1}-{state.who}",
        },
        key="sentences-look",
    )
    document.caption(
        f"Sentence {state.chosen + 1}: “{' '.join(words)}”. Left: attention weights of one head; rows are query words, "
        "columns are key words. Right: the vector of the selected word at every layer."
    )


def sentence_input(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the field for the visitor's sentences and the vocabulary of the language."""
    state = session.state
    bind_widget(session, "say", st.text_area, shown=state.text, update=SentenceEncoderState.with_sentences, height=282)
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
    st.caption("The last two of each eight nouns never stand next to the word with two senses in training.")
    small = sorted({word for frame in FRAMES for word in frame} - {"X", "A", "B"})
    st.markdown(f"Function words: {join_words(small)}.")
