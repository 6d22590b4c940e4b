"""A control experiment: repeating the current token needs no attention, a copy after a separator does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from explorer.catalogue import MODELS
from explorer.figures.comparison import Line
from explorer.figures.seq2seq.translation import copy_accuracy_by_step
from explorer.inspection.compare import median_and_range
from explorer.labs.translation import findings
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section

if TYPE_CHECKING:
    from explorer.inspection.seq2seq.copy_control import CopyAccuracy

_TITLES = {"plain": "Repeat the current token", "separated": "Repeat the sequence after a separator"}
_KINDS = {True: ("attention", "with attention", "solid"), False: ("none", "without attention", "6px,4px")}
_HEIGHT = 260


def section() -> None:
    """Draw two copy tasks, each trained with and without attention."""
    explanation(
        "A small causal Transformer learns to repeat the token it has just read, or to repeat a whole sequence after a "
        "separator; each with and without attention."
    )
    pending = {name: (("copying", name), partial(_train, name == "separated")) for name in _TITLES}
    result_section(
        "translation-copying",
        pending,
        partial(_draw),
        "Four small Transformers are training, three seeds each …",
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
    document.text(finding)
    panels = [_panel(name, each) for name, each in results.items()]
    add_plot_frame(document, panels, key="translation-copying", height=_HEIGHT, columns=2)
    document.caption(
        "Share of right tokens in new sequences of 12 tokens, of 20 different ones. Median of three seeds; band: "
        "lowest to highest. Dashed line: guessing."
    )


def _panel(name: str, results: CopyAccuracy) -> Panel:
    row, lines = MODELS["transformer"], []
    for with_attention, (label, words, dash) in _KINDS.items():
        steps = np.array(results.steps, float)
        lines.append(
            Line(
                label,
                words,
                row.colour,
                dash,
                steps,
                *median_and_range(results.by_attention[with_attention]).T,
                statistic="median",
            )
        )
    ends = {with_attention: float(np.median(values[-1])) for with_attention, values in results.by_attention.items()}
    return Panel(
        f"copying-{name}",
        copy_accuracy_by_step(lines, results.steps[-1], 1 / 20),
        alt=f"{_TITLES[name]}: at the end {ends[True]:.2f} right with attention, {ends[False]:.2f} without.",
        title=_TITLES[name],
        tracks=value_tracks([(words, row.colour) for _, words, _ in _KINDS.values()]),
    )
