"""One attention layer on a visitor's text, split into 1, 2, 4 or 8 heads of the same matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.figures.transformer.depth import HeadMeasure, measure_by_heads
from explorer.inspection.transformer import multi_head
from explorer.labs.depth import findings
from explorer.labs.depth.state import HEAD_COUNTS, MAX_CHARACTERS, UNTRAINED_SEEDS, DepthState
from explorer.model.run_model import RunModel
from explorer.models.configs import TransformerTextConfig
from explorer.training import model_factory
from explorer.training.config import RunConfig
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation, show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, apply_component_event
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training import stored_models
from explorer.ui.wording import count_seeds, quote_first
from explorer.web.results import pack, register_arrays

if TYPE_CHECKING:
    from explorer.models.transformer_decoder import TransformerDecoder

RUN = "text-transformer"  # width 64, four heads, three seeds
HEIGHT = 760
_KEY = "cutheads"


@dataclass(frozen=True, eq=False)
class AttentionReading:
    """The attention of the layer over one text, for every seed and number of heads.

    Compared by identity, so that it can be a cache key.
    """

    tokens: tuple[str, ...]
    unknown: tuple[str, ...]  # characters that the model never saw
    splits: Mapping[str, list[dict[int, multi_head.HeadSplit]]]  # by "trained" and "untrained", then by seed
    problem: str  # why an example is read instead of the text; empty if the text is

    def metric(self, weights: str, name: str) -> Float[ndarray, "cuts seeds"]:
        """Return a metric of the splits for "trained" or "untrained" weights."""
        return np.array([[getattr(cuts[heads], name) for cuts in self.splits[weights]] for heads in HEAD_COUNTS])

    def selected_heads(self, state: DepthState) -> dict[int, multi_head.HeadSplit]:
        """Return the splits of the selected seed, or of the last one there is."""
        seeds = self.splits[state.who]
        return seeds[min(state.seed, len(seeds) - 1)]


def heads_section(session: PageSession[DepthState]) -> None:
    """Draw the controls and the attention of the layer split into heads."""
    stored = _find_model()
    if stored is None:
        return
    _controls(session, stored)
    show_problems(session.state.input_problems)

    def requested_readings() -> Mapping[str, Request[AttentionReading]]:
        apply_component_event(session, _KEY, DepthState.apply_heads_event)
        return _reading_request(session.state, stored)

    result_section(
        "depth-heads",
        requested_readings,
        partial(_draw, session.state, stored),
        "The layer reads the text …",
        HEIGHT,
        pool="quick",
        events={_KEY: ("set",)},
    )


def head_measures_section(session: PageSession[DepthState]) -> None:
    """Draw how different and how concentrated the heads are, before and after training."""
    stored = _find_model()
    if stored is None:
        return
    result_section(
        "depth-head-measures",
        _reading_request(session.state, stored),
        partial(_draw_measures, stored),
        "The layer reads the text …",
        320,
        pool="quick",
    )


def _find_model() -> RunModel | None:
    """Return the language model whose layer is shown; without it show why."""
    try:
        return stored_models.find_run(RUN)
    except LineageError as error:
        show_problems([str(error)])
        return None


def _reading_request(state: DepthState, stored: RunModel) -> Mapping[str, Request[AttentionReading]]:
    key = ("depth-heads", *stored.cache_key, state.text_read, state.block)
    return {"reading": (key, partial(read_text, stored, state.text_read, state.block - 1))}


def _controls(session: PageSession[DepthState], stored: RunModel) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(session, "say", st.text_input, max_chars=MAX_CHARACTERS, width=250)
        bind_widget(session, "who", st.segmented_control, update=lambda s, who: replace(s, who=who, seed=0))
        count = stored.config.replicas if state.who == "trained" else UNTRAINED_SEEDS
        bind_widget(session, "seed", st.selectbox, shown=min(state.seed, count - 1), options=range(count), width=110)
        bind_widget(session, "block", st.selectbox, width=110)


@cached()
def _untrained_models(config: RunConfig, vocabulary: int) -> list[TransformerDecoder]:
    """Return untrained models of the same configuration, each initialized with its own seed."""
    from explorer.models.layers import replica

    stack = model_factory.build_model(replace(config, replicas=UNTRAINED_SEEDS), vocabulary).requires_grad_(False)
    return [replica(stack, seed) for seed in range(UNTRAINED_SEEDS)]  # type: ignore[misc]  # the run is of that model


def read_text(stored: RunModel, text: str, layer: int) -> AttentionReading:
    """Run all trained and untrained seeds on a text; on an example if the model knows too little of it."""
    assert stored.tokenizer is not None  # the run was trained on text
    tokenized = stored.tokenize(text)
    problem = ""
    if len(tokenized.ids) < 2 or tokenized.empty:
        problem = (
            f"Of this text the model knows {'nothing' if tokenized.empty else 'one character only'}: it learned from "
            f"English letters. Write two letters or more. Shown is “{DepthState.say}”."
        )
        tokenized = stored.tokenize(DepthState.say)
    models: dict[str, Sequence[Any]] = {
        "trained": [stored.module(seed) for seed in range(stored.config.replicas)],
        "untrained": _untrained_models(stored.config, len(stored.tokenizer.tokens)),
    }
    splits = {
        weights: [multi_head.split_heads(model, tokenized.ids, layer) for model in seeds]
        for weights, seeds in models.items()
    }
    return AttentionReading(tokenized.tokens, (*tokenized.dropped, *tokenized.unknown), splits, problem)


def _draw(state: DepthState, stored: RunModel, document: Document, results: Mapping[str, AttentionReading]) -> None:
    reading = results["reading"]
    document.problems(filter(None, [reading.problem]))
    selected, width = reading.selected_heads(state), stored.config.model.width  # type: ignore[attr-defined]
    trained_heads = _trained_head_count(stored) if state.who == "trained" else None
    differences = {weights: reading.metric(weights, "difference") for weights in reading.splits}
    cuts = {
        str(heads): {
            "finding": findings.heads_finding(
                heads, differences["trained"][i].tolist(), differences["untrained"][i].tolist()
            ),
            "words": findings.heads_text(
                heads,
                trained_heads,
                selected[heads].parameters,
                width,
                selected[heads].rank.tolist(),
                len(reading.tokens),
                selected[heads].evenness,
                findings.heads_verdict(heads, differences["trained"][i].tolist(), differences["untrained"][i].tolist()),
            ),
        }
        for i, heads in enumerate(HEAD_COUNTS)
    }
    if reading.unknown:
        document.caption(f"It never saw {quote_first(reading.unknown)}: left out.")
    content = pack({str(heads): cut.weights.astype(np.float32) for heads, cut in selected.items()})
    document.component(
        "multi_head",
        {
            "tokens": list(reading.tokens),
            "width": width,
            "cuts": cuts,
            "learned": trained_heads,
            "cut": state.cut,
            "view": state.view,
            "who": f"{'the trained' if trained_heads else 'an untrained'} layer of block {state.block}",
            "address": register_arrays(content, stored.cache_key),
            "file": f"heads-{state.who}-block-{state.block}-seed-{state.seed}",
        },
        key=_KEY,
    )


def _draw_measures(stored: RunModel, document: Document, results: Mapping[str, AttentionReading]) -> None:
    reading = results["reading"]
    if isinstance(reading, str):
        document.problems([reading])
        return
    add_plot_frame(document, _panels(reading), key="depth-by-heads", height=250, columns=2)
    document.caption(
        "Left: Jensen–Shannon divergence between the attention weights of two heads in bits (0: equal, 1: disjoint), "
        "mean over all pairs of heads and all tokens. Right: entropy of the attention weights relative to uniform "
        f"attention. Lines: median of {count_seeds(UNTRAINED_SEEDS)} before training and of "
        f"{count_seeds(len(reading.splits['trained']))} after training; bands: lowest to highest. The layer is part of "
        f"our language model, which was trained with {_trained_head_count(stored)} heads."
    )


def _trained_head_count(stored: RunModel) -> int:
    """Return the number of heads that the included run was trained with."""
    model = stored.config.model
    assert isinstance(model, TransformerTextConfig)
    return model.heads


def heads_formulas() -> None:
    """Draw the formulas of the split into heads."""
    explanation(
        "**Heads.** A layer of width d has one matrix each for queries, keys and values. A head uses d/h of their "
        "columns, so more heads need no more parameters. But each head compares shorter vectors: its matrix of scores "
        "has at most rank d/h, which limits the attention patterns over longer texts."
    )
    st.latex(
        r"\begin{gathered}\mathrm{head}_i = \mathrm{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d/h}}\right) V_i\\"
        r"\mathrm{rank}\,(Q_i K_i^\top) \le \tfrac{d}{h},\quad 4d^2 \text{ parameters}\end{gathered}"
    )


@cached()
def _panels(reading: AttentionReading) -> tuple[Panel, ...]:
    panels = []
    for name, title, axis_title in (
        ("difference", "Difference between heads", "divergence (bits)"),
        ("evenness", "Entropy of the attention", "share of maximum"),
    ):
        values = {weights: reading.metric(weights, name) for weights in ("trained", "untrained")}
        lines = [
            HeadMeasure("trained", MODELS["transformer"].colour, "solid", values["trained"]),
            HeadMeasure("untrained", "--soft", "6px,4px", values["untrained"]),
        ]
        high = float(np.nanmax([np.nanmax(each) for each in values.values()]))
        top = 1.02 if name == "evenness" else max(0.1, 1.15 * high)
        summary = "; ".join(
            f"{line.name} "
            + ", ".join(f"{h} heads {np.median(row):.2f}" for h, row in zip(HEAD_COUNTS, line.values, strict=True))
            for line in lines
        ).replace("1 heads nan, ", "")
        panels.append(
            Panel(
                f"heads-{name}",
                measure_by_heads(lines, HEAD_COUNTS, axis_title, (0.0, top)),
                alt=f"{title}, by the number of heads: {summary}.",
                title=title,
                tracks=value_tracks([(line.name, line.colour) for line in lines], 2),
            )
        )
    return tuple(panels)
