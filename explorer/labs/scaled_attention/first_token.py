"""How much attention the heads of a real model give to the first token of a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from explorer import charts, ui
from explorer.inspection.pretrained import first_token, opened_model
from explorer.labs.scaled_attention import findings
from explorer.labs.scaled_attention.state import ScaledAttentionState

_VARIANTS: Mapping[opened_model.FirstTokens, str] = {
    "unchanged": "sentences as they are",
    "replaced": "first token replaced by a random one",
    "removed": "first token removed",
    "longer": "four sentences in a row",
    "random network": "a network with random weights",
}


def first_token_section(session: ui.PageSession[ScaledAttentionState]) -> None:
    """Draw the choice of an opened model, and the attention of its heads to the first token."""
    ui.explanation(
        "The weights of softmax sum to 1, so a head always gives all its weight to some tokens, even if none of them "
        "fits its query. Many heads of trained language models give it to the first token, an “attention sink” "
        "(Xiao et al. 2023). Its value vector is short, so they add little (Bondarenko et al. 2023, Gu et al. 2024)."
    )
    if card := ui.choose_real_model(session, "language model"):
        ui.show_each(
            "first-token",
            {variant: ui.Call(opened_model.attention_to_first_token, card, variant) for variant in _VARIANTS},
            first_token_view,
            waiting="The attention of all heads is measured in many sentences …",
            height=420,
            pool="patient",
            partly=True,
        )


def first_token_view(
    document: ui.Document, results: Mapping[opened_model.FirstTokens, first_token.FirstTokenAttention]
) -> None:
    """Write how many heads attend to the first token, a map of all heads, and a table of the changed texts."""
    unchanged = results.get("unchanged")
    if unchanged is None:
        return
    layers, heads = unchanged.shares.shape[1:]
    total = layers * heads
    document.finding(findings.first_token_finding(unchanged.resting_heads(), total))
    if norm := unchanged.value_norm():
        document.text(findings.value_norm_text(norm))
    shares, every = unchanged.shares.mean(axis=0), max(1, layers // 10)
    by_layer = "; ".join(f"layer {i + 1} {row.mean():.2f}" for i, row in enumerate(shares))
    heat_map = charts.HeatMap(
        "",
        "share of attention to the first token",
        [str(head + 1) for head in range(heads)],
        [str(layer + 1) if layer % every == 0 else "" for layer in range(layers)],
        shares.T,
        columns_title="layer",
        rows_title="head",
        columns_on_top=False,
        words=f"Share of attention to the first token, for {heads} heads in {layers} layers: {by_layer} (means over "
        "the heads).",
    )
    caption = "Share of attention to the first token of a sentence; the stronger the colour, the more."
    panel = ui.Panel("first-token-heads", heat_map, caption=caption)
    document.figures("first-token-heads", [panel], height=80 + 22 * heads, columns=1)
    columns = {
        "what": charts.Column("texts", wrap=True),
        "heads": charts.Column(f"heads, of {total}"),
        "share": charts.Column("mean share", minor=True),
        "uniform": charts.Column("uniform", "number", minor=True),
    }
    rows: list[charts.Row] = [
        {
            "what": charts.Cell(_VARIANTS[variant], "--m-pretrained"),
            "heads": found.resting_heads().format(0),
            "share": found.mean_share().format(),
            "uniform": f"{float(found.uniform.mean()):.2f}",
        }
        for variant, found in results.items()
    ]
    document.table("first-token-table", charts.Table(columns, rows, "Attention to the first token"))
    document.caption(
        "Heads: those that give more than half of their attention to the first token, from all later tokens of "
        f"{len(unchanged.shares)} sentences. Mean share: over all heads. Uniform: what the first token would get if "
        "each token attended to all visible ones equally. In brackets: 95 % intervals over texts (bootstrap)."
    )
