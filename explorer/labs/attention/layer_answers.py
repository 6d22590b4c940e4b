"""Layer by layer: what the model would answer after each layer (logit lens), and attention rollout."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer import charts, ui
from explorer.errors import shorten
from explorer.labs.attention import findings
from explorer.labs.attention.head_explorer import answer_row
from explorer.labs.attention.measurements import AttentionReading, LayerAnswers, compute_layers
from explorer.labs.attention.state import AttentionState
from explorer.model.model import Model
from explorer.ui.wording import visible_whitespace

MIN_POSITIONS, MAX_POSITIONS = 5, 16  # of the logit-lens table
MAX_NAME = 8  # characters of a token in it
_LINE = 48  # characters that fit into its width on a phone
MAX_HIGH_ROWS = 13  # depths; with more of them each row is lower
MAX_LABELS = 40  # tokens that fit along the edge of the map


def section(state: AttentionState, stored_model: Model) -> None:
    """Draw the logit lens and attention rollout once they are computed."""
    if stored_model.layout.answers:
        ui.explanation(
            "The **logit lens** applies the final norm and the output layer after each layer, as if the model ended "
            "there. Each cell has the most likely prediction; the stronger the colour, the higher its probability. "
            "Only the last layer was trained for this."
        )
    ui.show(
        "gaze-layers",
        ui.Call(compute_layers, stored_model, state.computation_settings()),
        layers_view,
        stored_model,
        state.at,
        waiting="The layers are computed …",
        height=420,
        pool=stored_model.pool,
    )


def layers_view(document: ui.Document, layers: LayerAnswers, stored_model: Model, at: int | None) -> None:
    """Write the logit lens, and rollout for a model with several layers."""
    if layers.lens:
        _write_lens(document, stored_model, at, layers.reading, *layers.lens)
    if layers.rollout is not None and layers.reading.size[0] > 1:  # with one layer, it is its attention weights
        _write_rollout(document, layers, layers.rollout)


def _write_lens(
    document: ui.Document,
    stored_model: Model,
    at: int | None,
    reading: AttentionReading,
    predictions: Int[ndarray, "depths answers"],
    confidence: Float[ndarray, "depths answers"],
) -> None:
    """Write what the model would predict after each layer, at the query `at` and around it."""
    tokens = reading.queries

    def name(outcome: int) -> str:
        return visible_whitespace(stored_model.outcome_text(outcome, reading.query_ids))

    row = answer_row(stored_model, at, reading)
    depths = ["the embedding", *(f"layer {i + 1}" for i in range(len(predictions) - 1))]
    is_final = predictions[:, row] == predictions[-1, row]
    document.finding(findings.lens_finding(depths, confidence[:, row], is_final))
    longest = min(MAX_NAME, max(len(name(int(outcome))) for outcome in np.unique(predictions[:, row])))
    count = max(MIN_POSITIONS, min(MAX_POSITIONS, _LINE // (longest + 2)))
    first = max(0, min(row - count // 2, predictions.shape[1] - count))
    positions = range(first, min(first + count, predictions.shape[1]))
    alt_text = "; ".join(
        f"{depth} “{name(int(best[row]))}” {sure:.2f}"
        for depth, best, sure in zip(depths, predictions, confidence[:, row], strict=True)
    )
    texts = [[shorten(name(int(best[i])), MAX_NAME) for i in positions] for best in predictions]
    chart = charts.HeatMap(
        "The most likely prediction",
        "probability",
        ["embedding", *depths[1:]],
        [visible_whitespace(tokens[i]) for i in positions],
        confidence[:, list(positions)],
        texts,
        upward=True,
        columns_on_top=False,
        hover=texts,
        most_labels=len(depths),
        words=f"The most likely prediction at each position after each layer. At the query position: {alt_text}.",
    )
    every_token = stored_model.layout.answers_every_token
    caption = "Columns: the last token that was read." if every_token else "Read at <BOS>."
    height = 90 + (44 if len(depths) <= MAX_HIGH_ROWS else 26) * len(depths)
    document.figures("gaze-lens", [ui.Panel("gaze-lens", chart, caption=caption)], height=height, columns=1)


def _write_rollout(document: ui.Document, layers: LayerAnswers, rollout: Float[ndarray, "query key"]) -> None:
    """Write attention rollout. It does not know zero-ablated heads, so it is left out with them."""
    if layers.reading.state.off:
        document.text("Attention rollout is not shown while heads are switched off, because it ignores that.")
        return
    document.markdown(
        "**Attention rollout** multiplies the attention weights of all layers (the mean over the heads, plus the "
        "residual connection). It estimates how much of each token can reach each position. It ignores the values, so "
        "it shows what can flow, not what does."
    )
    tokens = layers.reading.queries
    labels = [visible_whitespace(token) for token in tokens] if len(tokens) <= MAX_LABELS else [""] * len(tokens)
    last = rollout[-1]
    most = sorted(range(len(tokens)), key=lambda i: -last[i])[:3]
    alt_text = ", ".join(f"“{visible_whitespace(tokens[i])}” at position {i + 1} {last[i]:.2f}" for i in most)
    chart = charts.HeatMap(
        "Attention rollout",
        "share",
        labels,
        labels,
        rollout,
        charts.tile_texts(rollout, most=MAX_LABELS),
        columns_on_top=False,
        legend=("0", "0.5", "1"),
        most_labels=MAX_LABELS,
        words=f"Attention rollout: rows query positions, columns tokens. The last position gets most from {alt_text}.",
    )
    caption = "Rows: position after the last layer; columns: tokens that were read. Each row sums to 1."
    panel = ui.Panel("gaze-rollout", chart, caption=caption)
    document.figures("gaze-rollout", [panel], height=520, narrow_height=380, columns=1)
