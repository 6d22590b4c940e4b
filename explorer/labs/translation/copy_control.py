"""A control experiment: the notebook's copy task needs no attention, a copy after a separator does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.comparison import Line
from explorer.figures.translation import copy_accuracy_by_step
from explorer.inspection.compare import mean_and_range
from explorer.labs.translation import findings
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section

if TYPE_CHECKING:
    from explorer.inspection.seq2seq.copy_control import CopyAccuracy

_TITLES = {"plain": "Say the token just read", "separated": "Say it all again after a separator"}
_KINDS = {True: ("attention", "with attention", "solid"), False: ("none", "with its attention taken out", "6px,4px")}
_HEIGHT = 260


def section() -> None:
    """Draw two copy tasks, each trained with and without attention."""
    st.header("A copy that proves nothing", anchor=False)
    explanation(
        "The notebook that this page grew from shows attention with a copy task, in which the token to be written is "
        "the one just read. Here a small causal Transformer learns that copy, and one after a separator, each with its "
        "attention and with its attention taken out."
    )
    pending = {name: (("copying", name), partial(_train, name == "separated")) for name in _TITLES}
    result_section(
        "translation-copying",
        pending,
        partial(_draw),
        "Four small Transformers learn to copy, three seeds each …",
        _HEIGHT,
        pool="patient",
    )


def _train(separated: bool) -> CopyAccuracy:
    from explorer.inspection.seq2seq.copy_control import train_copy_models

    return train_copy_models(separated)


def _draw(document: Document, results: Mapping[str, CopyAccuracy]) -> None:
    if len(results) < len(_TITLES):
        return
    ends = {
        name: {with_attention: values[-1] for with_attention, values in each.by_attention.items()}
        for name, each in results.items()
    }
    finding = findings.copy_finding(ends["plain"], ends["separated"], results["plain"].steps[-1])
    document.finding(finding)
    panels = [_panel(name, each) for name, each in results.items()]
    add_plot_frame(document, panels, key="translation-copying", height=_HEIGHT, columns=2)
    document.caption(
        "The share of tokens that are right in fresh sequences of 12, of 20 different tokens. Mean of three seeds; "
        "band: lowest to highest. Dashed line: guessing."
    )


def _panel(name: str, results: CopyAccuracy) -> Panel:
    row, lines = MODELS["transformer"], []
    for with_attention, (label, words, dash) in _KINDS.items():
        steps = np.array(results.steps, float)
        lines.append(
            Line(label, words, row.colour, dash, steps, *mean_and_range(results.by_attention[with_attention]).T)
        )
    ends = {with_attention: float(values[-1].mean()) for with_attention, values in results.by_attention.items()}
    return Panel(
        f"copying-{name}",
        copy_accuracy_by_step(lines, results.steps[-1], 1 / 20),
        alt=f"{_TITLES[name]}: at the end {ends[True]:.2f} right with attention, {ends[False]:.2f} without.",
        title=_TITLES[name],
        tracks=value_tracks([(words, row.colour) for _, words, _ in _KINDS.values()]),
    )
