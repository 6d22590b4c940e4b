"""The heads of a model over a text: what the page computes of them, and the instrument that shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import shortened
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.tasks.negation import CLASSES
from explorer.tasks.text import TextConfig
from explorer.training.store import StoredRun
from explorer.ui import packed
from explorer.ui.at_hand import AtHand
from explorer.ui.components import ears, heard, register
from explorer.ui.findings import some, visible
from explorer.ui.gaze import MOST_TOKENS, Gaze, Head, heads, named
from explorer.ui.page import plain
from explorer.ui.session import PageSession, write_address

if TYPE_CHECKING:
    from explorer.inspection.attention import Read, Touch
    from explorer.inspection.heads import Worth

MOST_SNAPSHOTS = 2_000_000  # bytes of the weights of all snapshots together, and of one reading
FEW = 3  # snapshots that are worth a slider
_ASKED = "lineage.gaze.through"  # for which text the snapshots were wanted
VIEWS, SCALES, SORTS = (get_args(get_type_hints(Gaze)[name]) for name in ("view", "scale", "sort"))
THROUGH = "the snapshots"  # no run has such a name
_KEY = "heads"
_heads = register(_KEY)


@dataclass(frozen=True, eq=False)
class Looked:
    """A model that has read a text: where every head looks, and what it answers."""

    gaze: Gaze  # whose step and touches these are
    read: Read
    size: tuple[int, int]  # layers, heads
    masked: tuple[int, ...]  # tokens at which nobody may look
    content: bytes  # the weights, for the browser
    answers: Float[ndarray, "asked outcomes"]  # log-probabilities: after each token, or of a sentence one row
    untouched: Float[ndarray, "asked outcomes"]  # the same without the touches


@dataclass(frozen=True, eq=False)
class Film:
    """The untouched weights of one text at several steps of the training."""

    steps: tuple[int, ...]
    content: bytes  # for the browser


def touch(gaze: Gaze) -> Touch:
    from explorer.inspection.attention import Touch

    return Touch(heads(gaze.off), heads(gaze.flat), gaze.unmasked, gaze.unplaced)


def size(hand: AtHand) -> tuple[int, int]:
    """Layers, and heads in each. Raises InvalidSetting for a model without attention."""
    model = hand.config.model
    if not isinstance(model, TransformerEncoderConfig | TransformerTextConfig):
        from explorer.inspection.attention import check_attention

        check_attention(hand.config)
        raise AssertionError("a model without attention is refused")
    return model.layers, model.heads


def names(hand: AtHand, gaze: Gaze, what: str) -> tuple[Hashable, ...]:
    """What names a result of a model and a text; with an own text's SHA-256, by which it is forgotten."""
    step = gaze.step if what != "through" else None
    return (f"gaze-{what}", *hand.stamp, gaze.seed, step, text_of(hand, gaze))


def text_of(hand: AtHand, gaze: Gaze) -> str:
    """What is read: the visitor's words, or some that fit the model."""
    return examples(hand)[0] if gaze.say is None else gaze.say


def examples(hand: AtHand) -> tuple[str, ...]:
    """Texts worth a look, in pairs that differ in one thing."""
    if not isinstance(hand.config.task, TextConfig):
        return ("human not preserve nature", "human preserve nature", "human not destroy nature")
    return (
        "the night and the day",
        "the night and no day",
        "Romeo, Romeo, O Romeo",
        "xqz vrk xqz vrk xqz v",
    )


def reading(hand: AtHand, gaze: Gaze) -> Read:
    """The text as the model reads it, as much of its end as a browser can be shown. Raises LineageError."""
    from explorer.inspection.attention import read

    found = read(hand.config, hand.tokenizer, text_of(hand, gaze))
    layers, count = size(hand)
    cells = MOST_SNAPSHOTS // (2 * layers * count)
    most = math.isqrt(2 * cells if is_causal(hand) and not gaze.unmasked else cells)
    if len(found.ids) <= most:
        return found
    cut = found.cut + "".join(found.tokens[:-most])
    return replace(found, ids=found.ids[-most:], tokens=found.tokens[-most:], cut=cut, cut_at="start")


def asked(hand: AtHand, gaze: Gaze, tokens: int) -> int:
    """The token that asks: the chosen one, else the one at which the answer is read."""
    usual = tokens - 1 if hand.tokenizer else 0
    return usual if gaze.at is None or gaze.at >= tokens else gaze.at


def looked(hand: AtHand, gaze: Gaze) -> Looked:
    """A model reads a text. Raises LineageError."""
    from explorer.inspection.attention import attend, packed_weights

    text = reading(hand, gaze)
    model = hand.model(gaze.seed, gaze.step)
    usual = attend(model, text.ids)
    seen = attend(model, text.ids, touch(gaze)) if gaze.touched else usual
    content = packed.pack({"weights": packed_weights(seen.weights, is_causal(hand) and not gaze.unmasked)})
    masked = tuple(np.flatnonzero(np.isnan(seen.weights).all(axis=(0, 1, 2))).tolist())
    return Looked(gaze, text, size(hand), masked, content, seen.answers, usual.answers)


def outcome(hand: AtHand, found: Looked, id: int) -> str:
    """What the model may answer: a token as it would stand behind the text, or a class."""
    if hand.tokenizer is None:
        return CLASSES[id]
    from explorer.tokenization.text import pieces

    return visible(pieces(hand.tokenizer, [id], found.read.ids[-16:])[0] or hand.tokenizer.tokens[id])


def context_of(hand: AtHand) -> int:
    """How many tokens a model sees at once."""
    model = hand.config.model
    return model.window if isinstance(model, TransformerEncoderConfig) else hand.config.on(TextConfig).context


def is_causal(hand: AtHand) -> bool:
    """Whether a token may look at those before it only."""
    return isinstance(hand.config.model, TransformerTextConfig)


def steps_of(hand: AtHand) -> list[int]:
    """The steps of a training whose weights are kept."""
    return hand.kept.snapshot_steps() if isinstance(hand.kept, StoredRun) else sorted(hand.kept.snapshots)


def snapshots(hand: AtHand, tokens: int, shown: int | None = None) -> list[int]:
    """Of these as many as travel together, the one that is shown among them; none if they are too few for a slider."""
    steps = steps_of(hand)
    if len(steps) < FEW:
        return []
    layers, count = size(hand)
    cells = tokens * (tokens + 1) // 2 if is_causal(hand) else tokens**2
    most = max(2, MOST_SNAPSHOTS // (2 * layers * count * cells))
    if len(steps) <= most:
        return steps
    some = {steps[round(i)] for i in np.linspace(0, len(steps) - 1, most)}
    return sorted(some if shown is None else {*some, shown})


def through(hand: AtHand, gaze: Gaze) -> Film:
    """A text at every snapshot. Raises LineageError."""
    from explorer.inspection.attention import attend, packed_weights

    ids = reading(hand, replace(gaze, unmasked=False)).ids
    steps = snapshots(hand, len(ids), gaze.step)
    each = [packed_weights(attend(hand.model(gaze.seed, step), ids).weights, is_causal(hand)) for step in steps]
    return Film(tuple(steps), packed.pack({"weights": np.stack(each)}))


def wanted(hand: AtHand, gaze: Gaze) -> dict[str, tuple[tuple[Hashable, ...], Callable[[], Looked | Film]]]:
    """What the instrument needs: the reading, and once the browser asks for them the snapshots."""
    touches = (gaze.off, gaze.flat, gaze.unmasked, gaze.unplaced)
    each: dict[str, tuple[tuple[Hashable, ...], Callable[[], Looked | Film]]] = {
        f"{hand.name} {gaze.seed}": ((*names(hand, gaze, "heads"), *touches), partial(looked, hand, gaze))
    }
    if st.session_state.get(_ASKED) == names(hand, gaze, "through"):
        each[THROUGH] = (*names(hand, gaze, "through"), gaze.step, gaze.unmasked), partial(through, hand, gaze)
    return each


def notes(hand: AtHand, found: Looked) -> None:
    """What became of the text on its way into the model."""
    read, said = found.read, []
    if read.nothing:
        from explorer.generation.writing import FROM_NOTHING

        said.append(FROM_NOTHING)
    if read.cut:
        where = "The beginning" if read.cut_at == "start" else "The end"
        limit = "The model sees" if len(read.ids) == context_of(hand) else "There is room here for"
        said.append(f"{limit} {len(read.ids)} {hand.unit}s at once. {where} was left out: “{shortened(read.cut)}”.")
    if read.lowered:
        said.append("It learned from small letters only: the text is read in small letters.")
    for names, become in ((read.dropped, "left out"), (read.unknown, "read as <unk>")):
        if names:
            said.append(f"It never saw {some(names)}: {become}.")
    if hand.tokenizer is None:
        said.append("The answer is read at <BOS>: of the last layer only its row counts.")
    if said:
        st.caption(plain(" ".join(said)))


def show(
    hand: AtHand, found: Looked, film: Film | None, worth: Worth | None, gaze: Gaze, old: bool, follow: bool
) -> None:
    """The grid, the open head, what it does, the training under a slider; see `assets/heads.js`.

    `old`: a new text is on its way. `follow`: the instrument says when it stands, and the page goes on then.
    """
    gaze = gaze.within(*found.size, len(found.read.ids))
    tokens, drawn = found.read.tokens, found.gaze
    steps = list(film.steps) if film else snapshots(hand, len(tokens), drawn.step)
    address = packed.offer(film.content, hand.stamp) if film else None
    data = {
        "tokens": list(tokens),
        "ids": list(found.read.ids),
        "layers": found.size[0],
        "heads": found.size[1],
        "causal": is_causal(hand) and not drawn.unmasked,
        "masked": list(found.masked),
        "address": packed.offer(found.content, hand.stamp),
        "open": [gaze.layer, gaze.head],
        "asked": asked(hand, gaze, len(tokens)),
        "scale": gaze.scale,
        "sort": gaze.sort,
        "view": gaze.view,
        "snapshots": {"steps": steps, "curve": curve(hand, gaze.seed), "unit": "nats", "address": address}
        if steps
        else None,
        "step": steps_of(hand)[-1] if drawn.step is None else drawn.step,
        "touch": {
            "off": sorted(map(list, heads(drawn.off))),
            "flat": sorted(map(list, heads(drawn.flat))),
            "unmasked": drawn.unmasked,
            "unplaced": drawn.unplaced,
        },
        "old": old,
        "follow": follow,
        "can": can(hand),
        "worth": None if worth is None else np.round(worth.worth, 5).tolist(),
        "worth_error": None if worth is None else np.round(worth.error, 5).tolist(),
        "worth_of": "held-out text" if hand.tokenizer else "all sentences of the grammar",
        "unit": hand.unit,
        "colour": hand.row.colour,
        "title": hand.title,
        "file": f"attention-{hand.name}",
    }
    _heads(
        data=data,
        key=_KEY,
        **ears(_KEY, "open", "asked", "scale", "sort", "view", "step", "snapshots", "touch", "stands"),
    )


def hear(session: PageSession[Gaze], hand: AtHand) -> bool:
    """Take in what the visitor did with the instrument, and whether it shows by now what it was last sent. All that is
    checked like everything from outside."""
    gaze, heads_there = session.state, size(hand)
    if _is_head(said := heard(_KEY, "open"), heads_there):
        gaze = replace(gaze, layer=said[0], head=said[1])
    if type(said := heard(_KEY, "asked")) is int and 0 <= said < MOST_TOKENS:
        gaze = replace(gaze, at=said)
    for name, possible in (("scale", SCALES), ("sort", SORTS), ("view", VIEWS)):
        if (said := heard(_KEY, name)) in possible:
            gaze = replace(gaze, **{name: said})
    if type(said := heard(_KEY, "step")) is int and said in steps_of(hand):
        gaze = replace(gaze, step=None if said == steps_of(hand)[-1] else said)
    if isinstance(said := heard(_KEY, "touch"), dict):
        gaze = _touched(gaze, said, heads_there)
    if heard(_KEY, "snapshots"):
        st.session_state[_ASKED] = names(hand, gaze, "through")
    if gaze != session.state:
        session.state = gaze
        write_address(session)
    return heard(_KEY, "stands") is True


def _touched(gaze: Gaze, said: dict[str, Any], size: tuple[int, int]) -> Gaze:
    def checked(given: object) -> tuple[str, ...]:
        every: list[Head] = [tuple(one) for one in given if _is_head(one, size)] if isinstance(given, list) else []
        return named(set(every))

    return replace(
        gaze,
        off=checked(said.get("off")),
        flat=checked(said.get("flat")),
        unmasked=said.get("unmasked") is True,
        unplaced=said.get("unplaced") is True,
    )


def _is_head(said: object, size: tuple[int, int]) -> bool:
    whole = isinstance(said, list) and len(said) == 2 and all(type(one) is int for one in said)
    return whole and 0 <= said[0] < size[0] and 0 <= said[1] < size[1]  # type: ignore[index]


def curve(hand: AtHand, seed: int) -> dict[str, list[int] | list[float]]:
    """How the held-out loss (of negation: that of all sentences) fell while this seed learned."""
    curves = hand.kept.curves
    name = next((name for name in ("val_loss", "val_loss_part", "test_loss") if name in curves.metrics), None)
    if name is None:
        return {"steps": [], "losses": []}
    values = curves.metrics[name][:, seed]
    if name == "val_loss":  # measured in full at the end only
        values = np.where(np.isfinite(values), values, curves.metrics["val_loss_part"][:, seed])
    known = np.isfinite(values)
    return {"steps": curves.evaluated[known].tolist(), "losses": np.round(values[known], 4).tolist()}


def can(hand: AtHand) -> dict[str, bool]:
    """What there is to touch besides the heads."""
    positions = getattr(hand.config.model, "positions", "learned")
    return {"mask": is_causal(hand), "positions": positions != "none"}
