"""The notebook's copy, which needs no attention, beside one that does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.comparison import Line
from explorer.figures.translation import copying
from explorer.inspection.comparing import over_seeds
from explorer.ui import translation_findings as findings
from explorer.ui.components import Panel, frame, tracks
from explorer.ui.page import explanation, plain
from explorer.ui.slowly import each_eventually

if TYPE_CHECKING:
    from explorer.inspection.copying import Copied

_TITLES = {"plain": "Say the token just read", "separated": "Say it all again after a separator"}
_KINDS = {True: ("attention", "with attention", "solid"), False: ("none", "with its attention taken out", "6px,4px")}
_HEIGHT = 260


def copying_section() -> None:
    """Two copies, each learned by a small Transformer with and without its attention."""
    st.header("A copy that proves nothing", anchor=False)
    explanation(
        "The notebook that this page grew from shows attention with a copy task, in which the token to be written is "
        "the one just read. Here a small causal Transformer learns that copy, and one after a separator, each with its "
        "attention and with its attention taken out."
    )
    wanted = {name: (("copying", name), partial(_copied, name == "separated")) for name in _TITLES}
    each_eventually(
        "translation-copying",
        wanted,
        _draw,
        "Four small Transformers learn to copy, three seeds each …",
        _HEIGHT,
        "patient",
    )


def _copied(separated: bool) -> Copied:
    from explorer.inspection.copying import copied

    return copied(separated)


def _draw(found: Mapping[str, Copied]) -> None:
    if len(found) < len(_TITLES):
        return
    ends = {
        name: {looking: float(values[-1].mean()) for looking, values in each.by_looking.items()}
        for name, each in found.items()
    }
    told = findings.copies(ends["plain"], ends["separated"], found["plain"].steps[-1])
    st.subheader(plain(told), anchor=False)
    frame([_panel(name, each) for name, each in found.items()], key="translation-copying", height=_HEIGHT, columns=2)
    st.caption(
        "The share of tokens that are right in fresh sequences of 12, of 20 different tokens. Mean of three seeds; "
        "band: lowest to highest. Dashed line: guessing."
    )


def _panel(name: str, found: Copied) -> Panel:
    row, lines = MODELS["transformer"], []
    for looking, (label, words, dash) in _KINDS.items():
        steps = np.array(found.steps, float)
        lines.append(Line(label, words, row.colour, dash, steps, *over_seeds(found.by_looking[looking]).T))
    ends = {looking: float(values[-1].mean()) for looking, values in found.by_looking.items()}
    return Panel(
        f"copying-{name}",
        copying(lines, found.steps[-1], 1 / 20),
        alt=f"{_TITLES[name]}: at the end {ends[True]:.2f} right with attention, {ends[False]:.2f} without.",
        title=_TITLES[name],
        tracks=tracks([(words, row.colour) for _, words, _ in _KINDS.values()]),
    )
