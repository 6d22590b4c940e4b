"""Touch: what is left of the exact match when attention is made uniform, frozen, or the bridge is cut."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.figures.translation import touches
from explorer.ui import runs
from explorer.ui import translation_findings as findings
from explorer.ui.components import Panel, frame
from explorer.ui.findings import listed, seeds
from explorer.ui.page import explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.slowly import each_eventually
from explorer.ui.translation import Translation

TOUCHES = {
    "none": "as it is",
    "uniform": "looks evenly",
    "frozen": "looks where it looked first",
    "shuffled": "source shuffled",
    "cut": "bridge cut",
}
COUNT = 25  # fresh sources of each length, or in each way of writing
_ROW = 42  # px


def touch_section(state: Translation, lanes: Mapping[str, Lane]) -> None:
    """Every model under every touch, a tile each; what is not possible has no tile."""
    st.header("Touch it", anchor=False)
    explanation(
        "The trained models, asked again while something in them is held: attention that spreads evenly, or stays "
        "where it looked first; a source whose tokens are read in another order; nothing let through from the half "
        "that reads to the half that writes. Nothing is trained for it."
    )
    wanted = {
        name: (("translation-touch", *lane.stamp), partial(_touched, lane))
        for name, lane in lanes.items()
        if lane.stored
    }
    if not wanted:
        return

    def draw(found: Mapping[str, Float[ndarray, "touches replicas"]]) -> None:
        _draw(state, {name: each for name, each in found.items() if name in state.contestants})

    height = 60 + _ROW * len(TOUCHES)
    each_eventually("translation-touch", wanted, draw, "Every model is touched and asked again …", height, "patient")


def _touched(lane: Lane) -> Float[ndarray, "touches replicas"]:
    """Exact match over all that was trained. NaN where there is nothing to touch."""
    from explorer.inspection.alignment import touched
    from explorer.tasks.dates import DatesConfig

    assert lane.stored is not None
    task, model = lane.config.task, runs.opened(lane.stored).stack
    found = np.full((len(TOUCHES), lane.config.replicas), np.nan)
    for i, touch in enumerate(TOUCHES):
        try:
            parts = touched(model, task, touch, COUNT)  # type: ignore[arg-type]  # a translator and its task
        except InvalidSetting:
            continue  # a model without attention
        trained = parts.shape[-1] if isinstance(task, DatesConfig) else task.longest  # type: ignore[union-attr]  # digits
        found[i] = parts[..., :trained].mean(axis=-1)
    return found


def _draw(state: Translation, found: Mapping[str, Float[ndarray, "touches replicas"]]) -> None:
    named = {name: state.contestants[name] for name in found}
    means = {name: dict(zip(TOUCHES, values.mean(axis=-1), strict=True)) for name, values in found.items()}
    told = findings.touched({named[name].words: each for name, each in means.items()})
    if told:
        st.subheader(plain(told), anchor=False)
    said = [
        f"{named[name].words}: {listed([f'{TOUCHES[t]} {v:.2f}' for t, v in each.items() if np.isfinite(v)])}"
        for name, each in means.items()
    ]
    panel = Panel(
        f"touch-{state.task}",
        touches(
            np.stack(list(found.values()), axis=1), list(TOUCHES.values()), [each.label for each in named.values()]
        ),
        alt=f"Exact match under every touch. {'. '.join(said)}.",
    )
    frame([panel], key="translation-touch", height=60 + _ROW * len(TOUCHES), columns=1)
    what = "in each way of writing" if state.task == "dates" else "of each trained length"
    st.caption(
        f"Exact match over {COUNT} fresh sources {what}: mean of {seeds(state.seeds)}, in brackets lowest to highest. "
        "No tile: nothing there to touch."
    )
