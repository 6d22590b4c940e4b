"""The map of a word in many sentences, the visitor's own ones beside it, and one of them from inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.tasks.gloss import GlossConfig
from explorer.tasks.meanings import HOMOGRAPHS, SENSES, SYNONYMS
from explorer.ui import sentences_findings as findings
from explorer.ui.components import ears, heard, register
from explorer.ui.page import empty_panel, explanation, problems
from explorer.ui.runs import Lane
from explorer.ui.sentences import MOST, Kind, Sentences, Typed
from explorer.ui.session import PageSession, bound, write_address
from explorer.ui.slowly import latest

HEIGHT = 700
WHO: dict[Kind, str] = {"trained": "Trained", "untrained": "Untrained", "alone": "No attention"}
_senses, _look = register("senses"), register("wordlook")


@dataclass(frozen=True, eq=False)
class Seen:
    """Everything that both instruments draw of one seed, as plain data."""

    map: dict[str, object]
    readings: dict[int, dict[str, object]]  # by sentence


def map_section(
    session: PageSession[Sentences],
    lanes: Mapping[str, Lane],
    typed: Typed,
    writing: Callable[[PageSession[Sentences]], None],
) -> None:
    """The map, and below it one sentence. `writing` draws the field in which sentences are written."""
    state = session.state
    if state.chosen not in typed.words and typed.words:
        state = session.state = replace(state, chosen=min(typed.words))
    encoder, alone = (lanes[name] for name in state.names)
    st.header("One word in many sentences", anchor=False)
    _choices(session, encoder)
    with st.expander("Write your own sentences", icon=":material/edit:", expanded=bool(typed.problems)):
        writing(session)
        problems(typed.problems)
    lane = alone if state.who == "alone" else encoder
    if lane.kept is None:
        empty_panel("Train it, and the map appears here.", HEIGHT)
        return
    replica = min(state.replica, lane.config.replicas - 1)
    stamp = (*lane.stamp, state.who, replica, state.word, tuple(sorted(typed.words.items())))
    wanted = {"map": (("sentences-map", *stamp), partial(_seen, lane, state.who, replica, state.word, typed))}

    def draw(found: Mapping[str, Seen], old: frozenset[str]) -> None:
        _hear(session)
        _map(session, found["map"], typed)
        if state.who != "alone":
            _inside(session, found["map"])

    latest("sentences-map", lambda: wanted, draw, "The encoder reads the sentences …", HEIGHT)


def _hear(session: PageSession[Sentences]) -> None:
    """What was done with the map since: only its own part of the page is drawn again, and the address holds it."""
    at = heard("sentences-map-figure", "layer")
    if isinstance(at, int) and 0 <= at <= 2:
        session.change(lambda s: replace(s, layer=-1 if at == s.layers else at))
    chosen = heard("sentences-map-figure", "chosen")
    if isinstance(chosen, int) and 0 <= chosen < min(len(session.state.lines), MOST):
        session.change(lambda s: replace(s, chosen=chosen))
    if at is not None or chosen is not None:
        write_address(session)


def _choices(session: PageSession[Sentences], lane: Lane) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "sentences.word", state.word, lambda s, word: replace(s, word=word or s.word))
        st.segmented_control("Word", HOMOGRAPHS, **ties)
        ties = bound(session, "sentences.who", state.who, lambda s, who: replace(s, who=who or s.who))
        st.segmented_control("Encoder", list(WHO), format_func=WHO.__getitem__, **ties)
        seeds = lane.config.seeds
        ties = bound(
            session, "sentences.replica", min(state.replica, len(seeds) - 1), lambda s, new: replace(s, replica=new)
        )
        st.selectbox("Seed", range(len(seeds)), format_func=lambda i: f"{seeds[i]}", width=110, **ties)


def _seen(lane: Lane, who: Kind, replica: int, word: str, typed: Typed) -> Seen:
    """Let one seed read everything. Raises DamagedRun."""
    from explorer.inspection import senses
    from explorer.inspection.opening import open_model
    from explorer.training.building import build
    from explorer.training.config import changed

    config = lane.config
    if who == "untrained":
        model = build(changed(config, {"replicas": 1, "seed": config.seeds[replica]})).requires_grad_(False)
    else:
        assert lane.kept is not None
        model = open_model(lane.kept).alone(replica)
    placed = {i: places[0] for i, words in typed.words.items() if (places := senses.occurrences(words))}
    kin = {i: senses.homograph_of(typed.words[i][place]) for i, place in placed.items()}
    mine = [i for i in placed if kin[i] == word]
    found = senses.word_map(model, word, [(typed.words[i], placed[i]) for i in mine])
    cosines = senses.cosines_between(model, [(typed.words[i], place) for i, place in placed.items()])
    readings = {i: senses.reading(model, config, words) for i, words in typed.words.items()}
    gloss = isinstance(config.task, GlossConfig)
    data: dict[str, object] = {
        "word": word,
        "topics": list(SENSES[word]),
        "synonyms": [SYNONYMS[topic] for topic in SENSES[word]],
        "names": layer_names(found.points.shape[0]),
        "points": _short(found.points, 3),
        "senses": [SENSES[word].index(topic) for topic in found.senses],
        "clear": [kind != word for kind in found.kinds],
        "said": list(found.said),
        "own": _short(found.own, 3),
        "of": mine,
        "shares": _short(found.shares, 3),
        "cosines": _short(cosines, 3),
        "kin": list(kin.values()),
        "at": list(kin),
        "places": placed,
        "says": {
            i: findings.sense_said(gloss, *_told(each.answers[0])) for i, each in readings.items() if each.answers
        },
    }
    inside = {
        i: {"words": list(each.words), "weights": _short(each.weights, 3), "vectors": _short(each.vectors, 3)}
        for i, each in readings.items()
    }
    return Seen(data, inside)


def _told(answer: tuple[str, float]) -> tuple[str, str, float]:
    topic, amount = answer
    return topic, SYNONYMS[topic], amount


def _short(values: ndarray, digits: int) -> object:
    return np.round(values.astype(float), digits).tolist()


def layer_names(layers: int) -> list[str]:
    """What the layers are called."""
    return ["the embeddings", *(f"layer {i}" for i in range(1, layers))]


def _map(session: PageSession[Sentences], seen: Seen, typed: Typed) -> None:
    state, places, says = session.state, seen.map["places"], seen.map["says"]
    assert isinstance(places, dict) and isinstance(says, dict)
    rows = [
        {
            "words": list(typed.words.get(i, line.split())),
            "place": places.get(i, -1),
            "readable": i in typed.words,
            "says": says.get(i, "") if i in typed.words else "left out",
        }
        for i, line in enumerate(state.lines[:MOST])
    ]
    names = seen.map["names"]
    assert isinstance(names, list)
    data = {name: value for name, value in seen.map.items() if name not in ("places", "says")}
    _senses(
        data={
            **data,
            "sentences": rows,
            "chosen": min(state.chosen, len(rows) - 1),
            "layer": len(names) - 1 if state.layer < 0 else min(state.layer, len(names) - 1),
            "file": f"senses-{state.word}-{state.who}",
        },
        key="sentences-map-figure",
        **ears("sentences-map-figure", "layer", "chosen"),
    )
    what = (
        "the sense it says, with its probability"
        if state.task == "gloss"
        else "the synonym it lies nearer to, with the cosine"
    )
    st.caption(
        "Every point is the word in one fresh sentence; the directions are the two principal components of this layer "
        f"for this seed. Beside each of your sentences: {what}."
    )


def _inside(session: PageSession[Sentences], seen: Seen) -> None:
    state = session.state
    st.header("One sentence from inside", anchor=False)
    reading = seen.readings.get(state.chosen)
    if reading is None:
        explanation("The chosen sentence cannot be read. Choose another one above.")
        return
    places = seen.map["places"]
    assert isinstance(places, dict)
    words, vectors = reading["words"], reading["vectors"]
    assert isinstance(words, list) and isinstance(vectors, list)
    _look(
        data={
            **reading,
            "names": [f"layer {i}" for i in range(len(vectors))],
            "word": places.get(state.chosen, 0),
            "file": f"sentence-{state.chosen + 1}-{state.who}",
        },
        key="sentences-look",
    )
    st.caption(
        f"Sentence {state.chosen + 1}: “{' '.join(words)}”. Left: how each word (row) divides its attention, in one "
        "head of one layer. Right: the contextual embedding of the chosen word, layer by layer."
    )
