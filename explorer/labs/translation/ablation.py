"""Ablation: exact match with uniform or frozen attention, a shuffled source, or a cut between encoder and decoder."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.attention import alignment
from explorer.inspection.compare import median_and_range
from explorer.inspection.seq2seq import copy_control
from explorer.labs.translation import findings
from explorer.labs.translation.state import Task, TranslationState
from explorer.ui.wording import count_seeds

ABLATIONS = {
    "none": "unchanged",
    "uniform": "uniform attention",
    "frozen": "attention of step 1 kept",
    "shuffled": "source shuffled",
    "cut": "decoder without encoder",
}
SOURCES = 25  # new sources of each length, or in each format
_HEIGHT = 60 + 42 * len(ABLATIONS)  # px


def section(state: TranslationState, views: Mapping[str, ui.RunView]) -> None:
    """Draw the exact match of every model under every ablation, and the control experiment on copying."""
    ui.explanation(
        "The trained models are evaluated again while one part is changed: attention is uniform, or stays as at step "
        "1; the source tokens are shuffled; or the decoder receives nothing from the encoder. Nothing is retrained."
    )
    calls = {
        name: ui.Call(alignment.ablate, view.stored, tuple(ABLATIONS), SOURCES)
        for name, view in views.items()
        if view.stored
    }
    if calls:
        ui.show_each(
            "translation-touch",
            calls,
            ablations_view,
            state.task,
            state.variants,
            state.seeds,
            waiting="Every model is changed and evaluated again …",
            height=_HEIGHT,
            pool="patient",
        )
    if state.task != "pairs":
        st.subheader("Does copying need attention?", anchor=False)
        copy_control_section()


def ablations_view(
    document: ui.Document,
    results: Mapping[str, Float[ndarray, "ablations replicas"]],
    task: Task,
    variants: Mapping[str, ModelVariant],
    seeds: int,
) -> None:
    """Write the exact match of every model under every ablation; NaN where it is impossible."""
    labels = {name: variants[name].label for name in results}
    medians = {name: dict(zip(ABLATIONS, np.median(values, axis=-1), strict=True)) for name, values in results.items()}
    document.finding(findings.ablation_finding({labels[name]: each for name, each in medians.items()}))
    values = np.stack(list(results.values()), axis=1)
    chart = charts.HeatMap(
        "Exact match under every ablation",
        "exact match",
        list(ABLATIONS.values()),
        list(labels.values()),
        np.median(values, axis=-1),
        [[_describe_tile(each) for each in row] for row in values],
    )
    document.figures("translation-touch", [ui.Panel(f"touch-{task}", chart)], height=_HEIGHT, columns=1)
    what = {"dates": f"{SOURCES} new sources in each format", "pairs": "the held-out pairs"}.get(
        task, f"{SOURCES} new sources of each trained length"
    )
    document.caption(
        f"Exact match over {what}: median of {count_seeds(seeds)}, in brackets lowest to "
        "highest. No tile: the model has no such part."
    )


def _describe_tile(seeds: Float[ndarray, " replicas"]) -> str:
    return "" if np.isnan(seeds).any() else f"{np.median(seeds):.2f}  ({seeds.min():.2f}–{seeds.max():.2f})"


_COPY_TITLES = {"plain": "Repeat the current token", "separated": "Repeat the sequence after a separator"}
_COPY_KINDS = {True: ("attention", "with attention", "solid"), False: ("none", "without attention", "6px,4px")}
_COPY_HEIGHT = 260


def copy_control_section() -> None:
    """Draw two copy tasks, each trained with and without attention."""
    ui.explanation(
        "A small causal Transformer learns to repeat the token it has just read, or to repeat a whole sequence after a "
        "separator; each with and without attention."
    )
    ui.show_each(
        "translation-copying",
        {name: ui.Call(copy_control.train_copy_models, name == "separated") for name in _COPY_TITLES},
        copying_view,
        waiting="Four small Transformers are training, three seeds each …",
        height=_COPY_HEIGHT,
        pool="patient",
    )


def copying_view(document: ui.Document, results: Mapping[str, copy_control.CopyAccuracy]) -> None:
    """Write the share of right tokens with and without attention on both copy tasks."""
    if len(results) < len(_COPY_TITLES):
        return
    ends = {
        name: {with_attention: values[-1] for with_attention, values in each.by_attention.items()}
        for name, each in results.items()
    }
    document.text(findings.copy_finding(ends["plain"], ends["separated"], results["plain"].steps[-1]))
    panels = [
        ui.Panel(f"copying-{name}", copy_chart(title, results[name]), title=title)
        for name, title in _COPY_TITLES.items()
    ]
    document.figures("translation-copying", panels, height=_COPY_HEIGHT, columns=2)
    document.caption(
        "Share of right tokens in new sequences of 12 tokens, of 20 different ones. Median of three seeds; band: "
        "lowest to highest. Dashed line: guessing."
    )


def copy_chart(title: str, results: copy_control.CopyAccuracy) -> charts.LineChart:
    """Return the share of right tokens by step, with and without attention, and a line at chance."""
    steps, colour = np.array(results.steps), MODELS["transformer"].colour
    lines = [
        charts.Line(label, words, colour, dash, steps, median_and_range(results.by_attention[kind]), name=words)
        for kind, (label, words, dash) in _COPY_KINDS.items()
    ]
    x = charts.Axis("step", (0, results.steps[-1]))
    return charts.LineChart(
        f"{title}, share of right tokens by step", lines, x, charts.ACCURACY, [charts.level(1 / 20)]
    )
