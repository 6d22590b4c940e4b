"""One attention layer over a visitor's text, cut into 1, 2, 4 or 8 heads of the same matrices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.figures.depth import Measured, by_heads
from explorer.models.configs import TransformerTextConfig
from explorer.training.config import RunConfig
from explorer.ui import at_hand, packed
from explorer.ui import depth_findings as findings
from explorer.ui.at_hand import AtHand
from explorer.ui.components import Panel, ears, frame, heard, register, tracks
from explorer.ui.depth import BLOCKS, CUTS, TYPED, UNTRAINED, Depth
from explorer.ui.findings import seeds, some
from explorer.ui.page import empty_panel, explanation, plain, problems
from explorer.ui.session import PageSession, bound, write_address
from explorer.ui.slowly import latest

if TYPE_CHECKING:
    from explorer.inspection.depth_heads import Cut
    from explorer.models.transformer_decoder import TransformerDecoder

RUN = "text-transformer"  # width 64, four heads, three seeds
HEIGHT = 760
_KEY = "cutheads"
_cutheads = register(_KEY)


@dataclass(frozen=True, eq=False)
class Looked:
    """What the layer does over one text, of every seed. As the key of a cache the same object is the same look."""

    tokens: tuple[str, ...]
    unseen: tuple[str, ...]  # characters that the model never saw
    cuts: Mapping[str, list[dict[int, Cut]]]  # by "trained" and "untrained", then by seed

    def measured(self, who: str, what: str) -> Float[ndarray, "cuts seeds"]:
        return np.array([[getattr(cuts[heads], what) for cuts in self.cuts[who]] for heads in CUTS])

    def of(self, state: Depth) -> dict[int, Cut]:
        """The seed that is shown, or the last there is."""
        every = self.cuts[state.who]
        return every[min(state.seed, len(every) - 1)]


def _hear(session: PageSession[Depth]) -> None:
    """Take in what was done with the instrument. It stands in a part of the page that is drawn alone after a gesture:
    then the whole page follows."""
    said, before = heard(_KEY, "set"), session.state
    if said is not None:
        session.change(lambda state: state.cut_as(said))
        write_address(session)
    if session.state != before:
        st.rerun()


def heads_section(session: PageSession[Depth]) -> None:
    """The whole section."""
    st.header("The same matrices, cut into heads", anchor=False)
    try:
        hand = at_hand.find(RUN)
    except LineageError as error:
        problems([str(error)])
        return
    _choices(session, hand)
    problems(session.state.troubles)

    def wanted() -> Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Looked | str]]]:
        _hear(session)
        state = session.state
        key = ("depth-heads", *hand.stamp, state.text, state.block)
        return {"look": (key, partial(looked, hand, state.text, state.block - 1))}

    def draw(found: Mapping[str, Looked | str], old: frozenset[str]) -> None:
        look = found["look"]
        if isinstance(look, str):
            problems([look])
            empty_panel("Where the heads look stands here once there is a text to read.", HEIGHT)
        else:
            _show(session.state, look, hand)

    latest("depth-heads", wanted, draw, "The layer reads the text …", HEIGHT, pool="quick")


def _choices(session: PageSession[Depth], hand: AtHand) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bound(session, "depth.say", state.say, lambda s, text: replace(s, say=text))
        st.text_input("Text", max_chars=TYPED, width=250, **ties)
        ties = bound(session, "depth.who", state.who, lambda s, who: replace(s, who=who or s.who, seed=0))
        words = {"trained": "after training", "untrained": "before training"}
        st.segmented_control("Weights", list(words), format_func=words.__getitem__, **ties)
        count = hand.config.replicas if state.who == "trained" else UNTRAINED
        ties = bound(session, "depth.seed", min(state.seed, count - 1), lambda s, seed: replace(s, seed=seed))
        st.selectbox("Seed", list(range(count)), width=110, **ties)
        ties = bound(session, "depth.block", state.block, lambda s, block: replace(s, block=block))
        st.selectbox("Block", list(range(1, BLOCKS + 1)), width=110, **ties)


@lru_cache(maxsize=2)
def _untrained(config: RunConfig, vocabulary: int) -> list[TransformerDecoder]:
    """Fresh models of the same settings, each drawn from a seed of its own."""
    from explorer.models.layers import replica
    from explorer.training.building import build

    stack = build(replace(config, replicas=UNTRAINED), vocabulary).requires_grad_(False)
    return [replica(stack, seed) for seed in range(UNTRAINED)]  # type: ignore[misc]  # the run is of that model


def looked(hand: AtHand, text: str, layer: int) -> Looked | str:
    """All seeds read a text, untrained and trained; or why not, where the model knows too little of it."""
    from explorer.inspection.attention import read
    from explorer.inspection.depth_heads import cuts

    assert hand.tokenizer is not None  # the run has learned a text
    found = read(hand.config, hand.tokenizer, text)
    if len(found.ids) < 2 or found.nothing:
        return (
            f"Of this text the model knows {'nothing' if found.nothing else 'one character only'}: it learned from "
            "English letters. Write two letters or more."
        )
    models = {
        "trained": [hand.model(seed) for seed in range(hand.config.replicas)],
        "untrained": _untrained(hand.config, len(hand.tokenizer.tokens)),
    }
    every = {who: [cuts(model, found.ids, layer) for model in those] for who, those in models.items()}  # type: ignore[attr-defined]
    return Looked(found.tokens, (*found.dropped, *found.unknown), every)


def _show(state: Depth, look: Looked, hand: AtHand) -> None:
    here, width = look.of(state), hand.config.model.width  # type: ignore[union-attr]
    learned = _learned(hand) if state.who == "trained" else None
    apart = {who: look.measured(who, "difference") for who in look.cuts}
    cuts = {
        str(heads): {
            "finding": findings.heads_finding(heads, apart["trained"][i].tolist(), apart["untrained"][i].tolist()),
            "words": findings.heads_words(
                heads,
                learned,
                here[heads].parameters,
                width,
                here[heads].rank.tolist(),
                len(look.tokens),
                here[heads].evenness,
            ),
        }
        for i, heads in enumerate(CUTS)
    }
    if look.unseen:
        st.caption(plain(f"It never saw {some(look.unseen)}: left out."))
    content = packed.pack({str(heads): cut.weights.astype(np.float32) for heads, cut in here.items()})
    _cutheads(
        data={
            "tokens": list(look.tokens),
            "width": width,
            "cuts": cuts,
            "learned": learned,
            "cut": state.cut,
            "view": state.view,
            "who": f"{'the trained' if learned else 'an untrained'} layer of block {state.block}",
            "address": packed.offer(content, hand.stamp),
            "file": f"heads-{state.who}-block-{state.block}-seed-{state.seed}",
        },
        key=_KEY,
        **ears(_KEY, "set"),
    )
    frame(list(_panels(look)), key="depth-by-heads", height=250, columns=2)
    st.caption(
        f"Left: how differently two heads look, the Jensen–Shannon divergence in bits, a mean over all pairs and all "
        f"tokens with a choice. Right: the entropy of where they look, over that of an even look. Dots: the middle of "
        f"{seeds(UNTRAINED)} before training and of {seeds(len(look.cuts['trained']))} after it; bands: lowest to "
        f"highest. The trained layer is of our language model, which learned with {_learned(hand)} heads."
    )


def _learned(hand: AtHand) -> int:
    """With how many heads the shipped run learned."""
    model = hand.config.model
    assert isinstance(model, TransformerTextConfig)
    return model.heads


def heads_why() -> None:
    """The formulas of the cut."""
    explanation(
        "A layer of width d has one matrix for all queries, one for all keys, one for all values. A head takes d/h of "
        "their columns. So more heads cost nothing, but each compares queries and keys of fewer numbers: its scores "
        "are a matrix of rank d/h at most, and not every pattern over more tokens than that can be reached."
    )
    st.latex(
        r"\begin{gathered}\mathrm{head}_i = \mathrm{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d/h}}\right) V_i\\"
        r"\mathrm{rank}\,(Q_i K_i^\top) \le \tfrac{d}{h},\quad 4d^2 \text{ parameters}\end{gathered}"
    )


@lru_cache(maxsize=32)
def _panels(look: Looked) -> tuple[Panel, ...]:
    found = []
    for name, title, what in (
        ("difference", "How differently heads look", "bits apart"),
        ("evenness", "How evenly they look", "of an even look"),
    ):
        values = {who: look.measured(who, name) for who in ("trained", "untrained")}
        lines = [
            Measured("trained", MODELS["transformer"].colour, "solid", values["trained"]),
            Measured("untrained", "--soft", "6px,4px", values["untrained"]),
        ]
        high = float(np.nanmax([np.nanmax(each) for each in values.values()]))
        top = 1.02 if name == "evenness" else max(0.1, 1.15 * high)
        told = "; ".join(
            f"{line.name} "
            + ", ".join(f"{h} heads {np.median(row):.2f}" for h, row in zip(CUTS, line.values, strict=True))
            for line in lines
        ).replace("1 heads nan, ", "")
        found.append(
            Panel(
                f"heads-{name}",
                by_heads(lines, CUTS, what, (0.0, top)),
                alt=f"{title}, by the number of heads: {told}.",
                title=title,
                tracks=tracks([(line.name, line.colour) for line in lines], 2),
            )
        )
    return tuple(found)
