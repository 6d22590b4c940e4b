"""Layer by layer: what the model would answer after each layer (logit lens), and attention rollout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.figures import attention as figures
from explorer.figures.model_internals import attention_map
from explorer.labs.attention import findings
from explorer.labs.attention.ablation import answer_row
from explorer.labs.attention.measurements import ablation_key, cache_key, compute_layers, outcome_text
from explorer.labs.attention.results import LayerAnswers
from explorer.labs.attention.state import AttentionState
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section
from explorer.ui.training.stored_models import StoredModel
from explorer.ui.wording import visible_whitespace

MAX_POSITIONS = 16  # of the logit-lens table
MAX_LABELS = 40  # tokens that fit along the edge of the map


def section(state: AttentionState, stored_model: StoredModel) -> None:
    """Draw the logit lens and attention rollout once they are computed."""
    st.header("Layer after layer", anchor=False)
    explanation(
        "The vector at every place is sent through the final norm and the readout after each layer, as if the model "
        "ended there (the logit lens). Each cell: the likeliest answer; the stronger the colour, the surer. Only the "
        "top row was ever trained to be read."
    )
    key = (*cache_key(stored_model, state, "layers"), *ablation_key(state))
    result_section(
        "gaze-layers",
        {"layers": (key, partial(compute_layers, stored_model, state))},
        partial(_draw, stored_model, state.at),
        "Every layer is asked …",
        420,
        pool="quick",
    )


def _draw(stored_model: StoredModel, at: int | None, document: Document, results: Mapping[str, LayerAnswers]) -> None:
    """Draw the logit lens, and rollout for a model with several layers."""
    layers = results["layers"]
    tokens = layers.reading.input.tokens
    name = partial(outcome_text, stored_model, layers.reading)
    row = answer_row(stored_model, at, layers.reading)
    depths = ["the embedding", *(f"layer {i + 1}" for i in range(len(layers.predictions) - 1))]
    is_final = layers.predictions[:, row] == layers.predictions[-1, row]
    document.finding(findings.lens_finding(depths, layers.confidence[:, row], is_final))
    first = max(0, min(row - MAX_POSITIONS // 2, layers.predictions.shape[1] - MAX_POSITIONS))
    positions = range(first, min(first + MAX_POSITIONS, layers.predictions.shape[1]))
    alt_text = "; ".join(
        f"{depth} “{name(int(best[row]))}” {sure:.2f}"
        for depth, best, sure in zip(depths, layers.predictions, layers.confidence[:, row], strict=True)
    )
    panel = Panel(
        "gaze-lens",
        figures.logit_lens(
            ["embedding", *depths[1:]],
            [visible_whitespace(tokens[i]) for i in positions],
            [[name(int(best[i])) for i in positions] for best in layers.predictions],
            layers.confidence[:, list(positions)],
        ),
        alt=f"The likeliest answer at each place after each layer. At the place that asks: {alt_text}.",
        caption="Columns: the token that was read last." if stored_model.tokenizer else "Read off at <BOS>.",
    )
    add_plot_frame(document, [panel], key="gaze-lens", height=90 + 44 * len(depths), columns=1)
    if len(depths) > 2:  # with one layer, rollout is its attention weights
        _draw_rollout(document, layers)


def _draw_rollout(document: Document, layers: LayerAnswers) -> None:
    """Draw attention rollout. It does not know zero-ablated heads, so it is left out with them."""
    if layers.reading.state.off:
        document.markdown("**Rollout** knows nothing of heads that are switched off: switch them on to see it.")
        return
    document.markdown(
        "**Rollout.** Each layer hands on a mixture: half of it what stood there, half what its heads brought, all "
        "heads alike. Multiplied layer by layer this says how much of each token may have reached each place at the "
        "end. It knows nothing of the values, so it says what could flow, not what did."
    )
    tokens = layers.reading.input.tokens
    labels = [visible_whitespace(token) for token in tokens] if len(tokens) <= MAX_LABELS else [""] * len(tokens)
    last = layers.rollout[-1]
    most = sorted(range(len(tokens)), key=lambda i: -last[i])[:3]
    alt_text = ", ".join(f"“{visible_whitespace(tokens[i])}” at place {i + 1} {last[i]:.2f}" for i in most)
    panel = Panel(
        "gaze-rollout",
        attention_map(layers.rollout, labels),
        alt=f"Attention rollout: rows ask, columns answer. At the last place the most comes from {alt_text}.",
        caption="Rows ask at the last layer, columns: the tokens that were read.",
    )
    add_plot_frame(document, [panel], key="gaze-rollout", height=560, narrow_height=380, columns=1)
