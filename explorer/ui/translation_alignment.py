"""Where a translator looks while it writes: source against target, for one seed of one contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import get_args

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.tasks.translation import (
    EOS,
    TranslationConfig,
    right_answer,
    source_tokens,
    spelled,
    target_tokens,
)
from explorer.training.translation_runs import Contestant
from explorer.ui import packed
from explorer.ui import translation_alignment_findings as findings
from explorer.ui.components import ears, heard, register
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, part, write_address
from explorer.ui.slowly import Pool, latest
from explorer.ui.translation import Look, Translation
from explorer.ui.translation_choices import chosen, model_choice, replica_of, with_runs, without_runs

HEIGHT, EMPTY = 720, 200
LOOKS: tuple[Look, ...] = get_args(Look)
ATTENDS = (
    "Each row asks, each column answers: the stronger the colour, the more of the look rests there. Point at a row, or "
    "use the arrow keys; a click keeps it."
)
PRESSES = (
    "This model reads the whole source first, and all that it keeps of it is one vector. Point at a token of the "
    "source to see how much of the vector hangs on it."
)
_PART = "translation-inside"
_KEY = "translation-alignment"
_alignment = register("alignment")


@dataclass(frozen=True, eq=False)
class Aligned:
    """What one seed did with one source. The arrays travel to the browser, see `assets/alignment.js`."""

    source: tuple[str, ...]
    target: tuple[str, ...]  # with <EOS>, where the model came to it
    right: tuple[str, ...] | None  # with <EOS>
    arrays: Mapping[str, ndarray]

    @cached_property
    def content(self) -> bytes:
        """The arrays as they travel: put together once for all who look at it."""
        return packed.pack(self.arrays)


def alignment_section(session: PageSession[Translation], lanes: Mapping[str, Lane]) -> None:
    """The whole section. `lanes` are those of the page, by the name of their contestant."""
    state = session.state
    try:
        ids = spelled(state.settings, state.source)
    except InvalidSetting:  # said where the source is typed
        return
    st.header("Where it looks", anchor=False)
    contestants = state.contestants
    known = with_runs(lanes, contestants)
    if not known:
        empty_panel("No run to look into yet: train above, and it stands here.", EMPTY)
        return
    without_runs(lanes, contestants)
    part(session, _PART, lambda: _inside(session, known, contestants, ids))


def _inside(
    session: PageSession[Translation],
    known: Mapping[str, Lane],
    contestants: Mapping[str, Contestant],
    ids: tuple[int, ...],
) -> None:
    name = chosen(session.state, known)
    lane = known[name]
    presses = getattr(lane.config.model, "attention", "") == "none"
    explanation(PRESSES if presses else ATTENDS)
    model_choice(session, known, "translation")
    replica = replica_of(session.state, lane)
    task, mine = session.state.settings, f"{session.state.task} {name}"  # nothing of another task may stay meanwhile
    key = (_KEY, *lane.stamp, replica, ids)

    def draw(found: Mapping[str, Aligned], old: frozenset[str]) -> None:
        if mine in found:
            _show(session, found[mine], contestants[name], lane, replica)

    wanted = {mine: (key, partial(aligned, lane, task, replica, ids))}
    # To know how far a vector moves, the source is read once for every symbol at every place.
    pool: Pool = "usual" if presses else "quick"
    latest(_KEY, lambda: wanted, draw, "The model reads the source and writes …", HEIGHT, pool=pool)


def aligned(lane: Lane, task: TranslationConfig, replica: int, ids: tuple[int, ...]) -> Aligned:
    """Let one seed write, and keep where it looks. Raises DamagedRun."""
    from explorer.inspection.alignment import align, moved
    from explorer.inspection.opening import open_model
    from explorer.models.translation import Translator

    assert lane.kept is not None
    model = open_model(lane.kept).alone(replica)
    assert isinstance(model, Translator)
    seen = align(model, task, ids)
    arrays: dict[str, ndarray | None] = {
        "probabilities": seen.probabilities,
        "source": seen.weights,
        "source_scores": seen.energies,
        "encoder": seen.own_source,
        "encoder_scores": _scores(seen.taps, "encoder"),
        "decoder": seen.own_target,
        "decoder_scores": _scores(seen.taps, "decoder"),
        "contexts": seen.contexts,
        "vector": seen.vector,
        "moved": None if seen.vector is None else moved(model, ids),
    }
    names, reads = target_tokens(task), source_tokens(task)
    right = right_answer(task, ids)
    return Aligned(
        tuple(reads[i] for i in ids),
        tuple(names[i] for i in seen.target),
        None if right is None else (*(names[i] for i in right), EOS),
        {name: array.astype(np.float32) for name, array in arrays.items() if array is not None},
    )


def _scores(taps: Mapping[str, ndarray], half: str) -> ndarray | None:
    """What a Transformer's attention to itself was before the mask and the softmax: layers, heads, rows, columns."""
    names = [name for name in taps if name.startswith(f"{half}.") and name.endswith(".attention.scores")]
    return np.stack([taps[f"{half}.{i}.attention.scores"] for i in range(len(names))]) if names else None


def opened(state: Translation, found: Aligned) -> tuple[int, int]:
    """The layer and the head on the screen, within what there is."""
    weights = found.arrays["source"]
    if min(state.layer, state.head) < 0:
        return findings.best(state.settings, "".join(found.source), found.target, weights)
    layers, heads = weights.shape[:2]
    return min(state.layer, layers - 1), min(state.head, heads - 1)


def hear(session: PageSession[Translation], found: Aligned) -> None:
    """Take in what the visitor did with the instrument; all of it is checked like everything from outside."""
    state = session.state
    if (said := heard(_KEY, "look")) in LOOKS:
        state = replace(state, look=said)
    said = heard(_KEY, "open")
    if isinstance(said, list) and len(said) == 2 and all(type(one) is int and one >= 0 for one in said):
        state = replace(state, layer=min(said[0], 7), head=min(said[1], 15))
    if type(said := heard(_KEY, "at")) is int and -1 <= said < max(len(found.target), len(found.source)):
        state = replace(state, at=said)
    if state != session.state:
        session.state = state
        write_address(session)


def _show(session: PageSession[Translation], found: Aligned, contestant: Contestant, lane: Lane, replica: int) -> None:
    hear(session, found)
    state, attends = session.state, "source" in found.arrays
    kind = _kind(lane, found)
    look = state.look if kind == "transformer" else "source"
    place = opened(state, found) if attends else (0, 0)
    if attends:
        weights = found.arrays["source"]
        said = findings.looking(state.settings, contestant.words, "".join(found.source), found.target, weights, place)
    else:
        said = findings.nothing_to_look_at(contestant.words, len(found.target), len(found.arrays["vector"]))
    st.subheader(plain(said), anchor=False)
    more = "" if attends else " " + findings.moving(found.source, found.arrays["moved"])
    explanation(plain(findings.verdict(found.target, found.right) + more))
    _alignment(
        data={
            "kind": kind,
            "source": list(found.source),
            "target": list(found.target),
            "right": None if found.right is None else list(found.right),
            "vocabulary": list(target_tokens(state.settings)),
            "address": packed.offer(found.content),
            "look": look,
            "open": list(place),
            "at": state.at,
            "title": contestant.title,
            "colour": contestant.colour,
            "file": f"translation-{state.task}-{contestant.name}-seed-{lane.config.seeds[replica]}",
        },
        key=_KEY,
        **ears(_KEY, "look", "open", "at"),
    )
    _why(found, kind, look, place, state.at, lane)


def _kind(lane: Lane, found: Aligned) -> str:
    if "vector" in found.arrays:
        return "vector"
    return "transformer" if isinstance(lane.config.model, TransformerEncoderDecoderConfig) else "additive"


def _why(found: Aligned, kind: str, look: Look, place: tuple[int, int], at: int, lane: Lane) -> None:
    """The formula behind the figure, and its numbers for the row that is kept."""
    st.subheader("Where the weights come from" if kind != "vector" else "What it writes from", anchor=False)
    if kind == "vector":
        st.latex(findings.vector_formula(), width="content")
        explanation("Every step is given the same c; only the state s and the token before, y, change.")
        return
    weights, scores = found.arrays[look][place], found.arrays[f"{look}_scores"][place]
    row = min(max(at, 0), len(weights) - 1)
    reach = row + 1 if look == "decoder" else weights.shape[-1]
    asks = found.source if look == "encoder" else found.target
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        if kind == "additive":
            st.latex(findings.additive_formula(), width="content")
            st.latex(findings.additive_worked(row, scores[row], weights[row]), width="content")
        else:
            width = _head_width(lane)
            st.latex(findings.scaled_formula(), width="content")
            st.latex(findings.scaled_worked(row, width, scores[row, :reach], weights[row, :reach]), width="content")
    kept = "the row that is kept" if at >= 0 else "the first row; a click keeps another"
    st.caption(plain(f"With the numbers of row {row + 1}, “{asks[row]}”, and its strongest weight: {kept}."))


def _head_width(lane: Lane) -> int:
    model = lane.config.model
    assert isinstance(model, TransformerEncoderDecoderConfig)
    return model.width // model.heads
