"""How much attention the heads of a real model give to the first token of a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from explorer.figures.transformer.pretrained import heads_by_layer
from explorer.hub.card import ModelCard
from explorer.inspection.pretrained import first_token, opened_model
from explorer.labs.scaled_attention import findings
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.components.table import add_table, column
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.training.real_model_choice import card_key, choose_real_model

_VARIANTS = {  # of `opened_model.FirstTokens`, which needs torch
    "unchanged": "sentences as they are",
    "replaced": "first token replaced by a random one",
    "removed": "first token removed",
    "longer": "four sentences in a row",
    "random network": "a network with random weights",
}


def first_token_section(session: PageSession[ScaledAttentionState]) -> None:
    """Draw the choice of an opened model, and the attention of its heads to the first token."""
    explanation(
        "The weights of softmax sum to 1, so a head always gives all its weight to some tokens, even if none of them "
        "fits its query. Many heads of trained language models then give it to the first token, whose value vector is "
        "short: so they add little (Xiao et al. 2023, “attention sinks”)."
    )
    card = choose_real_model(session, "language model")
    if card is None:
        return
    requests: dict[str, Request[first_token.FirstTokenAttention]] = {
        variant: (("real-first-token", *card_key(card), variant), partial(_measure, card, variant))
        for variant in _VARIANTS
    }
    result_section(
        "first-token",
        requests,
        _draw,
        "The attention of all heads is measured in many sentences …",
        420,
        pool="patient",
        partly=True,
    )


def _measure(card: ModelCard, variant: str) -> first_token.FirstTokenAttention:
    return opened_model.attention_to_first_token(card, variant)  # type: ignore[arg-type]  # one of _VARIANTS


def _draw(document: Document, results: Mapping[str, first_token.FirstTokenAttention]) -> None:
    unchanged = results.get("unchanged")
    if unchanged is None:
        return
    layers, heads = unchanged.shares.shape[1:]
    total = layers * heads
    document.finding(findings.first_token_finding(unchanged.resting_heads(), total))
    if norm := unchanged.value_norm():
        document.text(findings.value_norm_text(norm))
    shares = unchanged.shares.mean(axis=0)
    panel = Panel(
        "first-token-heads",
        heads_by_layer(shares, "share of attention to the first token"),
        alt=f"Share of attention to the first token, for {heads} heads in {layers} layers: "
        + "; ".join(f"layer {i + 1} {row.mean():.2f}" for i, row in enumerate(shares))
        + " (means over the heads).",
        caption="Share of attention to the first token of a sentence; the stronger the colour, the more.",
    )
    add_plot_frame(document, [panel], key="first-token-heads", height=80 + 22 * heads, columns=1)
    columns = [
        column("what", "texts", wrap=True),
        column("heads", f"heads, of {total}"),
        column("share", "mean share", minor=True),
        column("uniform", "uniform", "number", minor=True),
    ]
    rows = [
        {
            "what": {"text": _VARIANTS[variant], "colour": "--m-pretrained"},
            "heads": found.resting_heads().format(0),
            "share": found.mean_share().format(),
            "uniform": f"{float(found.uniform.mean()):.2f}",
        }
        for variant, found in results.items()
    ]
    label = "Attention to the first token"
    add_table(document, columns, rows, key="first-token-table", label=label)
    document.caption(
        "Heads: those that give more than half of their attention to the first token, from all later tokens of "
        f"{len(unchanged.shares)} sentences. Mean share: over all heads. Uniform: what the first token would get if "
        "each token attended to all visible ones equally. In brackets: 95 % intervals over texts (bootstrap)."
    )
