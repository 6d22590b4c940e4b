"""Inside the open head, number by number, and the model layer after layer."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.figures import attention as figures
from explorer.figures.insides import attention_map
from explorer.ui import attention_findings as findings
from explorer.ui import packed
from explorer.ui.at_hand import AtHand
from explorer.ui.attention_views import Looked, asked, looked, names, outcome, reading, touch
from explorer.ui.components import Panel, ears, frame, heard, register
from explorer.ui.findings import visible
from explorer.ui.gaze import Gaze
from explorer.ui.page import explanation, plain
from explorer.ui.session import PageSession, write_address
from explorer.ui.slowly import latest

AROUND = 16  # tokens for which every layer's answer is shown
NAMED = 40  # tokens that have room at the edge of a map
NUMBERS = ("queries", "keys", "values", "raw", "scaled", "weights", "mixed")  # of a head, for the walk
STEPS = 7  # of the walk
_KEY = "walk"
_walk = register(_KEY)


@dataclass(frozen=True, eq=False)
class Opened:
    """One head at work over a text."""

    tokens: tuple[str, ...]
    width: int  # of the head
    content: bytes  # its numbers for the browser


@dataclass(frozen=True, eq=False)
class Layered:
    """What each layer would answer, and how much of each token reaches the end."""

    looked: Looked
    best: Int[ndarray, "depths answers"]  # the likeliest outcome
    sure: Float[ndarray, "depths answers"]  # its probability
    rollout: Float[ndarray, "query key"]


def opened(hand: AtHand, gaze: Gaze) -> Opened:
    """Raises LineageError."""
    from explorer.inspection.lens import inside

    text = reading(hand, gaze)
    one = inside(hand.model(gaze.seed, gaze.step), text.ids, gaze.layer, gaze.head, touch(gaze))
    content = packed.pack({name: getattr(one, name) for name in NUMBERS})
    return Opened(text.tokens, one.queries.shape[-1], content)


def layered(hand: AtHand, gaze: Gaze) -> Layered:
    """Raises LineageError."""
    from explorer.inspection.attention import attend
    from explorer.inspection.heads import rollout
    from explorer.inspection.lens import lens

    seen = looked(hand, gaze)
    model = hand.model(gaze.seed, gaze.step)
    found = lens(model, seen.read.ids, touch(gaze))
    flow = rollout(attend(model, seen.read.ids, touch(gaze)).weights)
    return Layered(seen, found.argmax(axis=-1), np.exp(found.max(axis=-1)), flow)


def section(session: PageSession[Gaze], hand: AtHand) -> None:
    """The walk through the open head; then the layers."""
    gaze = session.state
    touches = (gaze.off, gaze.flat, gaze.unmasked, gaze.unplaced)
    st.header(f"Inside layer {gaze.layer + 1}, head {gaze.head + 1}", anchor=False)
    head = (*names(hand, gaze, "inside"), gaze.layer, gaze.head, *touches)

    def draw_head(found: Mapping[str, Opened], old: frozenset[str]) -> None:
        for one in found.values():
            if walk(session, hand, one):
                st.rerun()

    mine = f"{hand.name} {gaze.seed}"
    latest(
        "gaze-inside",
        lambda: {mine: (head, partial(opened, hand, gaze))},
        draw_head,
        "The head is opened …",
        520,
        pool="quick",
    )
    st.header("Layer after layer", anchor=False)
    layers = (*names(hand, gaze, "layers"), *touches)

    def draw_layers(found: Mapping[str, Layered], old: frozenset[str]) -> None:
        for one in found.values():
            layers_part(session.state, hand, one)

    latest(
        "gaze-layers",
        lambda: {mine: (layers, partial(layered, hand, gaze))},
        draw_layers,
        "Every layer is asked …",
        420,
        pool="quick",
    )


def walk(session: PageSession[Gaze], hand: AtHand, found: Opened) -> bool:
    """From the query to the weighted sum; see `assets/walk.js`. Whether another token asks now."""
    gaze, count = session.state, len(found.tokens)
    moved = False
    if isinstance(said := heard(_KEY, "step"), int) and 0 <= said < STEPS:
        session.state = gaze = replace(gaze, walk=said)
        write_address(session)
    if isinstance(said := heard(_KEY, "asked"), int) and 0 <= said < count:
        session.state = gaze = replace(gaze, at=said)
        write_address(session)
        moved = True
    data = {
        "tokens": list(found.tokens),
        "asked": asked(hand, gaze, count),
        "layer": gaze.layer,
        "head": gaze.head,
        "width": found.width,
        "address": packed.offer(found.content, hand.stamp),
        "step": gaze.walk,
        "turned": getattr(hand.config.model, "positions", "") == "rotary" and not gaze.unplaced,
        "unit": hand.unit,
        "colour": hand.row.colour,
        "file": f"head-{gaze.layer + 1}-{gaze.head + 1}",
    }
    _walk(data=data, key=_KEY, **ears(_KEY, "asked", "step"))
    return moved


def layers_part(gaze: Gaze, hand: AtHand, found: Layered) -> None:
    """What each layer would answer, and how much of each token reaches the end."""
    tokens = found.looked.read.tokens
    row = asked(hand, gaze, len(tokens)) if hand.tokenizer else 0
    depths = ["the embedding", *(f"layer {i + 1}" for i in range(len(found.best) - 1))]
    last = found.best[:, row] == found.best[-1, row]
    st.subheader(plain(findings.lens(depths, found.sure[:, row], last)), anchor=False)
    explanation(
        "The vector at every place is sent through the final norm and the readout after each layer, as if the model "
        "ended there (the logit lens). Each cell: the likeliest answer; the stronger the colour, the surer. Only the "
        "top row was ever trained to be read."
    )
    first = max(0, min(row - AROUND // 2, found.best.shape[1] - AROUND))
    places = range(first, min(first + AROUND, found.best.shape[1]))
    said = "; ".join(
        f"{depth} “{outcome(hand, found.looked, int(best[row]))}” {sure:.2f}"
        for depth, best, sure in zip(depths, found.best, found.sure[:, row], strict=True)
    )
    frame(
        [
            Panel(
                "gaze-lens",
                figures.lens(
                    ["embedding", *depths[1:]],
                    [visible(tokens[i]) for i in places],
                    [[outcome(hand, found.looked, int(best[i])) for i in places] for best in found.best],
                    found.sure[:, list(places)],
                ),
                alt=f"The likeliest answer at each place after each layer. At the place that asks: {said}.",
                caption="Columns: the token that was read last." if hand.tokenizer else "Read off at <BOS>.",
            )
        ],
        key="gaze-lens",
        height=90 + 44 * len(depths),
        columns=1,
    )
    if len(depths) > 2:  # the weights of an only layer are all there is to roll out
        rollout_part(found)


def rollout_part(found: Layered) -> None:
    """How much of each token may have reached each place."""
    if found.looked.gaze.off:
        explanation("**Rollout** knows nothing of heads that are switched off: switch them on to see it.")
        return
    explanation(
        "**Rollout.** Each layer hands on a mixture: half of it what stood there, half what its heads brought, all "
        "heads alike. Multiplied layer by layer this says how much of each token may have reached each place at the "
        "end. It knows nothing of the values, so it says what could flow, not what did."
    )
    tokens = found.looked.read.tokens
    labels = [visible(token) for token in tokens] if len(tokens) <= NAMED else [""] * len(tokens)
    last = found.rollout[-1]
    most = sorted(range(len(tokens)), key=lambda i: -last[i])[:3]
    said = ", ".join(f"“{visible(tokens[i])}” at place {i + 1} {last[i]:.2f}" for i in most)
    frame(
        [
            Panel(
                "gaze-rollout",
                attention_map(found.rollout, labels),
                alt=f"Attention rollout: rows ask, columns answer. At the last place the most comes from {said}.",
                caption="Rows ask at the last layer, columns: the tokens that were read.",
            )
        ],
        key="gaze-rollout",
        height=560,
        narrow_height=380,
        columns=1,
    )


def download(hand: AtHand, gaze: Gaze) -> None:
    """Every number of this forward, by the names of the taps, as the terminal's `inspect` writes it."""

    def made() -> bytes:
        from explorer.inspection.lens import named_arrays

        text = reading(hand, gaze)
        file = io.BytesIO()
        arrays = named_arrays(hand.model(gaze.seed, gaze.step), text.ids, touch(gaze))
        np.savez(file, **arrays, tokens=np.array(text.tokens))  # type: ignore[arg-type]  # no tap has a name of its own settings
        return file.getvalue()

    st.download_button(
        "Every number of this reading (npz)",
        made,
        file_name=f"attention-{hand.name}.npz",
        mime="application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        help="All layers, heads, queries, keys, values, scores and weights, by the names of the taps.",
    )
