"""Inside the open head, number by number, and the model layer after layer."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.figures import attention as figures
from explorer.figures.insides import attention_map
from explorer.ui import attention_findings as findings
from explorer.ui import packed
from explorer.ui.at_hand import AtHand
from explorer.ui.attention_answers import vocabulary
from explorer.ui.attention_views import names, text_of, touch, unit
from explorer.ui.components import Panel, ears, frame, heard, register
from explorer.ui.findings import visible
from explorer.ui.gaze import Gaze
from explorer.ui.page import explanation, plain
from explorer.ui.session import PageSession, write_address
from explorer.ui.slowly import latest

AROUND = 16  # tokens for which every layer's answer is shown
STEPS = 7  # of the walk
_KEY = "walk"
_walk = register(_KEY)


@dataclass(frozen=True, eq=False)
class Opened:
    """One head at work over a text, and what each layer would answer."""

    tokens: tuple[str, ...]
    width: int  # of the head
    content: bytes  # its numbers for the browser
    lens: Float[ndarray, "depths answers outcomes"]  # probabilities
    rollout: Float[ndarray, "query key"]


def opened(hand: AtHand, gaze: Gaze) -> Opened:
    """Raises LineageError."""
    from explorer.inspection.attention import attend, read
    from explorer.inspection.heads import rollout
    from explorer.inspection.lens import inside, lens

    text = read(hand.config, hand.tokenizer, text_of(hand, gaze))
    model = hand.model(gaze.seed, gaze.step)
    touches = touch(gaze)
    one = inside(model, text.ids, gaze.layer, gaze.head, touches)
    names = ("queries", "keys", "values", "raw", "scaled", "weights", "mixed")
    content = packed.pack({name: getattr(one, name) for name in names})
    flow = rollout(attend(model, text.ids, touches).weights)
    return Opened(text.tokens, one.queries.shape[-1], content, np.exp(lens(model, text.ids, touches)), flow)


def section(session: PageSession[Gaze], hand: AtHand) -> None:
    """The walk through the open head; then the layers."""
    gaze = session.state
    key = (*names(hand, gaze, "inside"), gaze.layer, gaze.head, gaze.off, gaze.flat, gaze.unmasked, gaze.unplaced)
    st.header(f"Inside layer {gaze.layer + 1}, head {gaze.head + 1}", anchor=False)

    def draw(found: Mapping[str, Opened], old: frozenset[str]) -> None:
        if walk(session, hand, found["inside"]):
            st.rerun()
        st.header("Layer after layer", anchor=False)
        if not old:
            layers_part(session, hand, found["inside"])

    latest(
        "gaze-inside",
        lambda: {"inside": (key, lambda: opened(hand, gaze))},
        draw,
        "The head is opened …",
        520,
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
        session.state = gaze = replace(gaze, at=None if said == count - 1 else said)
        write_address(session)
        moved = True
    data = {
        "tokens": list(found.tokens),
        "asked": count - 1 if gaze.at is None else min(gaze.at, count - 1),
        "layer": gaze.layer,
        "head": gaze.head,
        "width": found.width,
        "address": packed.offer(found.content, "gaze.walk"),
        "step": gaze.walk,
        "turned": getattr(hand.config.model, "positions", "") == "rotary" and not gaze.unplaced,
        "unit": unit(hand),
        "colour": hand.row.colour,
        "file": f"head-{gaze.layer + 1}-{gaze.head + 1}",
    }
    _walk(data=data, key=_KEY, **ears(_KEY, "asked", "step"))
    return moved


def layers_part(session: PageSession[Gaze], hand: AtHand, found: Opened) -> None:
    """What each layer would answer, and how much of each token reaches the end."""
    gaze, count = session.state, len(found.tokens)
    at = count - 1 if gaze.at is None else min(gaze.at, count - 1)
    row = at if hand.tokenizer else 0
    told = vocabulary(hand)
    depths = ["the embedding", *(f"layer {i + 1}" for i in range(len(found.lens) - 1))]
    best = found.lens.argmax(axis=-1)  # depths, answers
    sure = found.lens[:, row].max(axis=-1)
    st.subheader(plain(findings.lens(depths, sure, best[:, row] == best[-1, row])), anchor=False)
    explanation(
        "The vector at every place is sent through the final norm and the readout after each layer, as if the model "
        "ended there (the logit lens). Each cell: the likeliest answer; the stronger the colour, the surer. Only the "
        "top row was ever trained to be read."
    )
    first = max(0, min(row - AROUND // 2, len(best[0]) - AROUND))
    places = range(first, min(first + AROUND, best.shape[1]))
    labels = [visible(found.tokens[i]) for i in places]
    frame(
        [
            Panel(
                "gaze-lens",
                figures.lens(
                    ["embedding", *depths[1:]],
                    labels,
                    [[visible(told[best[d, i]]) for i in places] for d in range(len(depths))],
                    found.lens[:, list(places)].max(axis=-1),
                ),
                alt="The likeliest answer at each place after each layer.",
                caption="Columns: the token that was read last." if hand.tokenizer else "Read off at <BOS>.",
            )
        ],
        key="gaze-lens",
        height=90 + 44 * len(depths),
        columns=1,
    )
    if len(found.lens) <= 2:
        return  # one layer: its weights are all there is to roll out
    explanation(
        "**Rollout.** Each layer hands on a mixture: half of it what stood there, half what its heads brought, all "
        "heads alike. Multiplied layer by layer this says how much of each token may have reached each place at the "
        "end. It knows nothing of the values, so it is an upper view, not an explanation."
    )
    shown = [visible(token) for token in found.tokens]
    frame(
        [
            Panel(
                "gaze-rollout",
                attention_map(found.rollout, shown if count <= 40 else [""] * count),
                alt="Attention rollout: rows ask, columns answer.",
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
        from explorer.inspection.attention import read
        from explorer.inspection.lens import named_arrays

        text = read(hand.config, hand.tokenizer, text_of(hand, gaze))
        file = io.BytesIO()
        arrays = named_arrays(hand.model(gaze.seed, gaze.step), text.ids, touch(gaze))
        np.savez(file, **arrays, tokens=np.array(text.tokens))  # type: ignore[arg-type]  # no tap is called allow_pickle
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
