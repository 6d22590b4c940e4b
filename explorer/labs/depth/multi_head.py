"""One attention layer on a visitor's text, split into 1, 2, 4 or 8 heads of the same matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.inspection.compare import median_and_range
from explorer.inspection.transformer import multi_head
from explorer.labs.depth import findings
from explorer.labs.depth.state import HEAD_COUNTS, MAX_CHARACTERS, UNTRAINED_SEEDS, DepthState
from explorer.model.run_model import RunModel
from explorer.models.configs import TransformerTextConfig
from explorer.training import model_factory
from explorer.training.config import RunConfig
from explorer.ui.training import stored_models
from explorer.ui.wording import quote_first
from explorer.web.results import pack, register_arrays

if TYPE_CHECKING:
    from explorer.models.transformer_decoder import TransformerDecoder

RUN = "text-transformer"  # width 64, four heads, three seeds
_KEY = "cutheads"


@dataclass(frozen=True, eq=False)
class AttentionReading:
    """The attention of the layer over one text, for every seed and number of heads."""

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


def heads_section(session: ui.PageSession[DepthState]) -> None:
    """Draw the controls and the attention of the layer split into heads."""
    if stored := _find_model():
        state = session.state
        with st.container(horizontal=True, vertical_alignment="top"):
            ui.bind_widget(session, "say", st.text_input, max_chars=MAX_CHARACTERS, width=250)
            ui.bind_widget(session, "who", st.segmented_control, update=lambda s, who: replace(s, who=who, seed=0))
            count = stored.config.replicas if state.who == "trained" else UNTRAINED_SEEDS
            shown = min(state.seed, count - 1)
            ui.bind_widget(session, "seed", st.selectbox, shown=shown, options=range(count), width=110)
            ui.bind_widget(session, "block", st.selectbox, width=110)
        ui.show_problems(session.state.input_problems)
        ui.show(
            "depth-heads",
            _reading_call(session.state, stored),
            heads_view,
            session.state,
            stored,
            waiting="The layer reads the text …",
            height=760,
            pool="quick",
            events={_KEY: ("set",)},
            on_event=lambda: ui.apply_component_event(session, _KEY),
        )


def head_measures_section(session: ui.PageSession[DepthState]) -> None:
    """Draw how different and how concentrated the heads are, before and after training."""
    if stored := _find_model():
        ui.show(
            "depth-head-measures",
            _reading_call(session.state, stored),
            measures_view,
            stored,
            waiting="The layer reads the text …",
            height=320,
            pool="quick",
        )


def _find_model() -> RunModel | None:
    """Return the language model whose layer is shown; without it show why."""
    try:
        return stored_models.find_run(RUN)
    except LineageError as error:
        ui.show_problems([str(error)])
        return None


def _reading_call(state: DepthState, stored: RunModel) -> ui.Call[AttentionReading]:
    return ui.Call(read_text, stored, state.text_read, state.block - 1)


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


def heads_view(document: ui.Document, reading: AttentionReading, state: DepthState, stored: RunModel) -> None:
    """Write the component with the attention of the selected seed, and a finding for each number of heads."""
    document.problems(filter(None, [reading.problem]))
    selected, model = reading.selected_heads(state), stored.config.model
    assert isinstance(model, TransformerTextConfig)  # the included run is of this model
    trained_heads = model.heads if state.who == "trained" else None
    trained, untrained = (reading.metric(weights, "difference").tolist() for weights in ("trained", "untrained"))
    cuts = {
        str(heads): {
            "finding": findings.heads_finding(heads, trained[i], untrained[i]),
            "words": findings.heads_text(
                heads,
                trained_heads,
                selected[heads].parameters,
                model.width,
                selected[heads].rank.tolist(),
                len(reading.tokens),
                selected[heads].evenness,
                findings.heads_verdict(heads, trained[i], untrained[i]),
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
            "width": model.width,
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


def measures_view(document: ui.Document, reading: AttentionReading, stored: RunModel) -> None:
    """Write how different and how even the attention of the heads is, by their number."""
    panels = [
        ui.Panel(f"heads-{name}", by_heads_chart(reading, name, title, y_title), title=title)
        for name, title, y_title in (
            ("difference", "Difference between heads", "divergence (bits)"),
            ("evenness", "Entropy of the attention", "share of maximum"),
        )
    ]
    document.figures("depth-by-heads", panels, height=250, columns=2)
    document.caption(
        "Left: Jensen–Shannon divergence between the attention weights of two heads in bits (0: equal, 1: disjoint), "
        "mean over all pairs of heads and all tokens. Right: entropy of the attention weights relative to uniform "
        f"attention. Lines: median of {ui.count_seeds(UNTRAINED_SEEDS)} before training and of "
        f"{ui.count_seeds(len(reading.splits['trained']))} after training; bands: lowest to highest. The layer is part "
        f"of our language model, which was trained with {stored.layout.heads} heads."
    )


def by_heads_chart(reading: AttentionReading, name: str, title: str, y_title: str) -> charts.LineChart:
    """Return a metric of the splits by the number of heads, before and after training."""
    styles = {"trained": (MODELS["transformer"].colour, "solid"), "untrained": ("--soft", "6px,4px")}
    x = np.arange(len(HEAD_COUNTS))
    lines = [
        charts.Line(weights, weights, *style, x, median_and_range(reading.metric(weights, name)), "filled")
        for weights, style in styles.items()
    ]
    _, highest = charts.span_of([line.values for line in lines], 0.0)
    top = 1.02 if name == "evenness" else max(0.1, 1.15 * highest)
    return charts.LineChart(
        f"{title}, by the number of heads",
        lines,
        charts.Axis("heads", (-0.15, len(HEAD_COUNTS) - 0.85), ticks=dict(enumerate(map(str, HEAD_COUNTS)))),
        charts.Axis(y_title, (0.0, top), ticks=4),
        margin=96,
    )
