"""Ablation: exact match with uniform or frozen attention, a shuffled source, or a cut between encoder and decoder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments.model_variant import ModelVariant
from explorer.figures.seq2seq.translation import exact_match_by_ablation
from explorer.labs.translation import copy_control, findings
from explorer.labs.translation.state import Task, TranslationState
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.training import run_view
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
        copy_control.section()


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
    from explorer.inspection.attention.alignment import exact_match_by_intervention

    assert view.stored is not None
    model = run_view.load_run_model(view.stored).stack
    return exact_match_by_intervention(model, view.config.task, list(ABLATIONS), SOURCES)  # type: ignore[arg-type]  # a translator and its task


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
