"""Ablation: exact match with uniform or frozen attention, a shuffled source, or a cut between encoder and decoder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import Line
from explorer.figures.seq2seq.translation import copy_accuracy_by_step, exact_match_by_ablation
from explorer.inspection import load_model
from explorer.inspection.attention import alignment
from explorer.inspection.compare import median_and_range
from explorer.inspection.seq2seq import copy_control
from explorer.labs.translation import findings
from explorer.labs.translation.state import Task, TranslationState
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import count_seeds, join_words

ABLATIONS = {
    "none": "unchanged",
    "uniform": "uniform attention",
    "frozen": "attention of step 1 kept",
    "shuffled": "source shuffled",
    "cut": "decoder without encoder",
}
SOURCES = 25  # new sources of each length, or in each format
_ROW = 42  # px


def section(state: TranslationState, views: Mapping[str, RunView]) -> None:
    """Draw the exact match of every model under every ablation, and the control experiment on copying."""
    explanation(
        "The trained models are evaluated again while one part is changed: attention is uniform, or stays as at step "
        "1; the source tokens are shuffled; or the decoder receives nothing from the encoder. Nothing is retrained."
    )
    pending = {
        name: (("translation-touch", *view.cache_key, state.text), partial(_exact_by_ablation, view))
        for name, view in views.items()
        if view.stored
    }
    if pending:
        _draw_ablations(state, pending)
    if state.task != "pairs":
        st.subheader("Does copying need attention?", anchor=False)
        copy_control_section()


def _draw_ablations(
    state: TranslationState, pending: Mapping[str, Request[Float[ndarray, "ablations replicas"]]]
) -> None:
    result_section(
        "translation-touch",
        pending,
        partial(_draw_tiles, state.task, state.variants, state.seeds),
        "Every model is changed and evaluated again …",
        60 + _ROW * len(ABLATIONS),
        pool="patient",
    )


def _exact_by_ablation(view: RunView) -> Float[ndarray, "ablations replicas"]:
    """Return the exact match over the trained lengths or formats; NaN where an ablation is impossible."""
    assert view.stored is not None
    model = load_model.shared_model(view.stored).stack
    return alignment.exact_match_by_intervention(model, view.config.task, list(ABLATIONS), SOURCES)  # type: ignore[arg-type]  # a translator and its task


def _draw_tiles(
    task: Task,
    variants: Mapping[str, ModelVariant],
    seeds: int,
    document: Document,
    results: Mapping[str, Float[ndarray, "ablations replicas"]],
) -> None:
    named = {name: variants[name] for name in results}
    medians = {name: dict(zip(ABLATIONS, np.median(values, axis=-1), strict=True)) for name, values in results.items()}
    finding = findings.ablation_finding({named[name].label: each for name, each in medians.items()})
    if finding:
        document.finding(finding)
    alt_parts = [
        f"{named[name].words}: {join_words([f'{ABLATIONS[t]} {v:.2f}' for t, v in each.items() if np.isfinite(v)])}"
        for name, each in medians.items()
    ]
    panel = Panel(
        f"touch-{task}",
        exact_match_by_ablation(
            np.stack(list(results.values()), axis=1), list(ABLATIONS.values()), [each.label for each in named.values()]
        ),
        alt=f"Exact match under every ablation. {'. '.join(alt_parts)}.",
    )
    add_plot_frame(document, [panel], key="translation-touch", height=60 + _ROW * len(ABLATIONS), columns=1)
    what = {"dates": f"{SOURCES} new sources in each format", "pairs": "the held-out pairs"}.get(
        task, f"{SOURCES} new sources of each trained length"
    )
    document.caption(
        f"Exact match over {what}: median of {count_seeds(seeds)}, in brackets lowest to "
        "highest. No tile: the model has no such part."
    )


_COPY_TITLES = {"plain": "Repeat the current token", "separated": "Repeat the sequence after a separator"}
_COPY_KINDS = {True: ("attention", "with attention", "solid"), False: ("none", "without attention", "6px,4px")}
_COPY_HEIGHT = 260


def copy_control_section() -> None:
    """Draw two copy tasks, each trained with and without attention."""
    explanation(
        "A small causal Transformer learns to repeat the token it has just read, or to repeat a whole sequence after a "
        "separator; each with and without attention."
    )
    pending = {name: (("copying", name), partial(_train_copy, name == "separated")) for name in _COPY_TITLES}
    result_section(
        "translation-copying",
        pending,
        partial(_draw_copy),
        "Four small Transformers are training, three seeds each …",
        _COPY_HEIGHT,
        pool="patient",
    )


def _train_copy(separated: bool) -> copy_control.CopyAccuracy:
    return copy_control.train_copy_models(separated)


def _draw_copy(document: Document, results: Mapping[str, copy_control.CopyAccuracy]) -> None:
    if len(results) < len(_COPY_TITLES):
        return
    ends = {
        name: {with_attention: values[-1] for with_attention, values in each.by_attention.items()}
        for name, each in results.items()
    }
    finding = findings.copy_finding(ends["plain"], ends["separated"], results["plain"].steps[-1])
    document.text(finding)
    panels = [_copy_panel(name, each) for name, each in results.items()]
    add_plot_frame(document, panels, key="translation-copying", height=_COPY_HEIGHT, columns=2)
    document.caption(
        "Share of right tokens in new sequences of 12 tokens, of 20 different ones. Median of three seeds; band: "
        "lowest to highest. Dashed line: guessing."
    )


def _copy_panel(name: str, results: copy_control.CopyAccuracy) -> Panel:
    row, lines = MODELS["transformer"], []
    for with_attention, (label, words, dash) in _COPY_KINDS.items():
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
        alt=f"{_COPY_TITLES[name]}: at the end {ends[True]:.2f} right with attention, {ends[False]:.2f} without.",
        title=_COPY_TITLES[name],
        tracks=value_tracks([(words, row.colour) for _, words, _ in _COPY_KINDS.values()]),
    )
