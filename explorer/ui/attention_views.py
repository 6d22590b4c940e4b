"""The heads of a model over a text: what the page computes of them, and the instrument that shows them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import shortened
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.tasks.text import TextConfig
from explorer.training.store import StoredRun
from explorer.ui import packed, slowly
from explorer.ui.at_hand import AtHand
from explorer.ui.components import ears, heard, register
from explorer.ui.findings import listed
from explorer.ui.gaze import MOST_TOKENS, Gaze, Head, heads, named
from explorer.ui.page import plain
from explorer.ui.session import PageSession, write_address

if TYPE_CHECKING:
    from explorer.inspection.attention import Read, Touch
    from explorer.inspection.heads import Worth

MOST_SNAPSHOTS = 2_000_000  # bytes of the weights of all snapshots together
FEW = 3  # snapshots that are worth a slider
_ASKED = "lineage.gaze.through"  # for which text the snapshots were wanted
VIEWS, SCALES, SORTS = (get_args(get_type_hints(Gaze)[name]) for name in ("view", "scale", "sort"))
_KEY = "heads"
_heads = register(_KEY)


@dataclass(frozen=True, eq=False)
class Looked:
    """A model that has read a text: where every head looks, and what it answers."""

    read: Read
    size: tuple[int, int]  # layers, heads
    weights: Float[ndarray, "layers heads query key"]  # NaN where nobody may look
    content: bytes  # the same for the browser
    answers: Float[ndarray, "asked outcomes"]  # log-probabilities: after each token, or of a sentence one row
    untouched: Float[ndarray, "asked outcomes"]  # the same without the touches


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


def looked(hand: AtHand, gaze: Gaze) -> Looked:
    """A model reads a text. Raises LineageError."""
    from explorer.inspection.attention import attend, packed_weights, read

    text = read(hand.config, hand.tokenizer, text_of(hand, gaze))
    model = hand.model(gaze.seed, gaze.step)
    usual = attend(model, text.ids)
    seen = attend(model, text.ids, touch(gaze)) if gaze.touched else usual
    causal = is_causal(hand) and not gaze.unmasked
    content = packed.pack({"weights": packed_weights(seen.weights, causal)})
    return Looked(text, size(hand), seen.weights, content, seen.answers, usual.answers)


def is_causal(hand: AtHand) -> bool:
    """Whether a token may look at those before it only."""
    return isinstance(hand.config.model, TransformerTextConfig)


def steps_of(hand: AtHand) -> list[int]:
    """The steps of a training whose weights are kept."""
    return hand.kept.snapshot_steps() if isinstance(hand.kept, StoredRun) else sorted(hand.kept.snapshots)


def snapshots(hand: AtHand, tokens: int) -> list[int]:
    """Of these as many as travel together; none if they are too few for a slider."""
    steps = steps_of(hand)
    if len(steps) < FEW:
        return []
    layers, count = size(hand)
    cells = tokens * (tokens + 1) // 2 if is_causal(hand) else tokens**2
    most = max(2, MOST_SNAPSHOTS // (2 * layers * count * cells))
    if len(steps) <= most:
        return steps
    return [steps[round(i)] for i in np.linspace(0, len(steps) - 1, most)]


def through(hand: AtHand, gaze: Gaze, ids: tuple[int, ...], steps: list[int]) -> bytes:
    """The untouched weights at every snapshot, for the browser. Raises DamagedRun."""
    from explorer.inspection.attention import attend, packed_weights

    each = [packed_weights(attend(hand.model(gaze.seed, step), ids).weights, is_causal(hand)) for step in steps]
    return packed.pack({"weights": np.stack(each)})


def notes(hand: AtHand, found: Looked) -> None:
    """What became of the text on its way into the model."""
    read, said = found.read, []
    if read.cut:
        where = "The beginning" if read.cut_at == "start" else "The end"
        said.append(
            f"The model sees {len(read.ids)} {unit(hand)}s at once. {where} was left out: “{shortened(read.cut)}”."
        )
    if read.lowered:
        said.append("It learned from small letters only: the text is read in small letters.")
    for names, become in ((read.dropped, "left out"), (read.unknown, "read as <unk>")):
        if names:
            several = " and others" if len(names) > 4 else ""
            said.append(f"It never saw {listed([f'“{shortened(n, 12)}”' for n in names[:4]])}{several}: {become}.")
    if said:
        st.caption(plain(" ".join(said)))


def show(gaze: Gaze, hand: AtHand, found: Looked, worth: Worth | None) -> None:
    """The grid, the open head, what it does, the training under a slider; see `assets/heads.js`."""
    gaze = gaze.within(*found.size, len(found.read.ids))
    tokens = found.read.tokens
    steps = snapshots(hand, len(tokens))
    address = None
    if steps and st.session_state.get(_ASKED) == names(hand, gaze, "through"):
        content = slowly.work(
            names(hand, gaze, "through"), lambda: through(hand, gaze, found.read.ids, steps), pool="quick"
        ).result()
        address = packed.offer(content, "gaze.through")
    masked = np.isnan(found.weights).all(axis=(0, 1, 2))
    data = {
        "tokens": list(tokens),
        "ids": list(found.read.ids),
        "layers": found.size[0],
        "heads": found.size[1],
        "causal": is_causal(hand) and not gaze.unmasked,
        "masked": np.flatnonzero(masked).tolist(),
        "address": packed.offer(found.content, "gaze.weights"),
        "open": [gaze.layer, gaze.head],
        "asked": len(tokens) - 1 if gaze.at is None else gaze.at,
        "scale": gaze.scale,
        "sort": gaze.sort,
        "view": gaze.view,
        "snapshots": {"steps": steps, "curve": curve(hand, gaze.seed), "unit": "nats", "address": address}
        if steps
        else None,
        "step": hand.config.steps if gaze.step is None else gaze.step,
        "touch": {
            "off": sorted(map(list, heads(gaze.off))),
            "flat": sorted(map(list, heads(gaze.flat))),
            "unmasked": gaze.unmasked,
            "unplaced": gaze.unplaced,
        },
        "can": can(hand),
        "worth": None if worth is None else np.round(worth.worth, 5).tolist(),
        "worth_error": None if worth is None else np.round(worth.error, 5).tolist(),
        "worth_of": "held-out text" if hand.tokenizer else "all sentences of the grammar",
        "unit": unit(hand),
        "colour": hand.row.colour,
        "title": hand.title,
        "file": f"attention-{hand.name}",
    }
    _heads(data=data, key=_KEY, **ears(_KEY, "open", "asked", "scale", "sort", "view", "step", "snapshots", "touch"))


def hear(session: PageSession[Gaze], hand: AtHand) -> None:
    """Take in what the visitor did with the instrument. What it sends is checked like everything from outside."""
    gaze, heads_there = session.state, size(hand)
    if _is_head(said := heard(_KEY, "open"), heads_there):
        gaze = replace(gaze, layer=said[0], head=said[1])
    if type(said := heard(_KEY, "asked")) is int and 0 <= said < MOST_TOKENS:
        gaze = replace(gaze, at=said)
    for name, possible in (("scale", SCALES), ("sort", SORTS), ("view", VIEWS)):
        if (said := heard(_KEY, name)) in possible:
            gaze = replace(gaze, **{name: said})
    if type(said := heard(_KEY, "step")) is int and said in steps_of(hand):
        gaze = replace(gaze, step=None if said == hand.config.steps else said)
    if isinstance(said := heard(_KEY, "touch"), dict):
        gaze = _touched(gaze, said, heads_there)
    if heard(_KEY, "snapshots"):
        st.session_state[_ASKED] = names(hand, gaze, "through")
    if gaze != session.state:
        session.state = gaze
        write_address(session)


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


def unit(hand: AtHand) -> str:
    """What one token is."""
    if not isinstance(hand.config.task, TextConfig):
        return "word"
    return {"char": "letter", "word": "word"}.get(hand.config.task.tokenizer, "token")
