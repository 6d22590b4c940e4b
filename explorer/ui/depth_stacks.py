"""Stacks of up to 24 blocks before training: with and without residuals, norms after or before each part, or none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from explorer.ui import depth_findings as findings
from explorer.ui import packed
from explorer.ui.components import ears, heard, register
from explorer.ui.depth import CUTS, LAYERS, Depth
from explorer.ui.depth_grid import Grid, grid
from explorer.ui.page import explanation, plain
from explorer.ui.session import PageSession, bound, write_address
from explorer.ui.slowly import latest

HEIGHT = 900
_KEY = "stacks"
_stacks = register(_KEY)
STARTS = {"usual": "as our layers start", "kept": "each matrix keeps the size", "zero": "each part starts at zero"}


def _hear(session: PageSession[Depth]) -> None:
    """Take in what was done with the instrument. It stands in a part of the page that is drawn alone after a gesture:
    then the whole page follows."""
    said, before = heard(_KEY, "set"), session.state
    if said is not None:
        session.change(lambda state: state.stacked_as(said))
        write_address(session)
    if session.state != before:
        st.rerun()


def stacks_section(session: PageSession[Depth]) -> None:
    """The whole section."""
    st.header("Up to 24 blocks: residuals and norms", anchor=False)
    explanation(
        "A stack of Transformer blocks that has learned nothing yet reads random symbols and is asked for random ones. "
        "What reaches its top, and what comes back to its bottom? Take the residual away, move the norm, add blocks."
    )
    _choices(session)

    def wanted() -> Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Grid]]]:
        _hear(session)
        return {"stacks": grid(session.state.start, session.state.heads)}

    latest(
        "depth-stacks",
        wanted,
        lambda found, old: _show(session.state, found["stacks"]),
        "Eighty stacks of 24 blocks are drawn, read and asked for their gradients …",
        HEIGHT,
    )


def _choices(session: PageSession[Depth]) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="top"):
        ties = bound(session, "depth.start", state.start, lambda s, start: replace(s, start=start))
        st.selectbox("Start of the matrices", list(STARTS), format_func=STARTS.__getitem__, width=260, **ties)
        ties = bound(session, "depth.heads", state.heads, lambda s, heads: replace(s, heads=heads))
        st.selectbox("Heads in each block", list(CUTS), width=160, **ties)


def _show(state: Depth, made: Grid) -> None:
    from explorer.inspection.depth import COMBINATIONS, SEEDS, SHARES, SYMBOLS, TOKENS, WIDTH, expected

    lines = [expected(combination, made.start) for combination in COMBINATIONS]
    _stacks(
        data={
            "combinations": [vars(combination) for combination in COMBINATIONS],
            "heights": LAYERS,
            "expected": [None if line is None else np.log10(line).round(5).tolist() for line in lines],
            "chosen": {name: getattr(state, name) for name in ("residual", "norm", "kind", "layers")},
            "address": packed.offer(made.content),
            "file": f"stacks-{made.start}-{made.heads}-heads",
        },
        key=_KEY,
        **ears(_KEY, "set"),
    )
    share = SHARES[made.start]
    st.caption(
        plain(
            f"Line: the middle of {SEEDS} random starts, each with {TOKENS} symbols of {SYMBOLS} of its own; band: "
            f"lowest to highest. Dashed in the first panel: between what the formula expects. Pale: the other "
            f"combinations, dotted where there is no residual. Width {WIDTH}, {made.heads} heads. "
            f"{findings.start_words(made.start, share)}"
        )
    )
    _why(state, made)


def _why(state: Depth, made: Grid) -> None:
    """The formulas, with the numbers of this height in them."""
    from explorer.inspection.depth import COMBINATIONS, SHARES, Combination, expected

    middle, between = {}, {}
    for norm in ("pre", "none", "post"):
        combination = Combination(True, norm)
        seen = made.found.size[COMBINATIONS.index(combination), state.layers]
        middle[norm] = float(np.median(seen))
        line = expected(combination, made.start)
        assert line is not None  # with a residual there is always an expectation
        between[norm] = (float(line[0, state.layers]), float(line[1, state.layers]))
    st.subheader("Why", anchor=False)
    explanation(
        "With a residual each part adds to what is there. The attention adds at most s² of what it reads, less where "
        "it averages tokens that differ; the feedforward layer adds s²/2, because ReLU takes half. A norm before the "
        "part makes what it reads 1, so that v grows by the same amount at every block. Without a norm the part reads "
        "what has grown already, and v grows by a factor. A norm after the sum divides by what has grown, and with it "
        "everything that older blocks have left."
    )
    st.latex(
        r"\begin{aligned}\text{before: }&1 + l\,\tfrac{s^2}{2} \le v_l \le 1 + l\left(\tfrac{s^2}{2} + s^2\right)\\"
        r"\text{none: }&a^l \le v_l \le a^l\left(1 + s^2\right)^l, \quad a = 1 + \tfrac{s^2}{2}\\"
        r"\text{after: }&v_l = 1\end{aligned}"
    )
    explanation(
        plain(
            findings.formula_words(
                made.start,
                SHARES[made.start],
                state.layers,
                between["pre"],
                between["none"],
                middle,
            )
        )
    )
    _claims(state, made)


def _claims(state: Depth, made: Grid) -> None:
    """What is said of gradients, beside what came back."""
    from explorer.inspection.depth import COMBINATIONS, Combination

    after, before = (COMBINATIONS.index(Combination(True, norm)) for norm in ("post", "pre"))
    found, top = made.found, max(2, state.layers)
    rms = COMBINATIONS.index(Combination(True, "pre", "rms"))
    explanation(plain(findings.kinds_words(found.size[before, top], found.size[rms, top], top)))
    down = found.stream[after, top - 1]
    explanation(plain(findings.fading_words(down[1] / down[top], top)))
    if top > 2:

        def topmost(which: int) -> tuple[float, float]:
            low, high = (float(np.median(found.weights[which, height - 1, height])) for height in (2, top))
            return low, high

        grown = float(np.median(found.size[before, top] / found.size[before, 2]))
        explanation(plain(findings.top_words(topmost(after), topmost(before), (2, top), grown)))
