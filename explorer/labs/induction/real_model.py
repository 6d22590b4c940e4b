"""Induction heads of a real language model: their scores, and the loss on the second copy without them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, Union

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.inspection.pretrained import opened_model, repeated_tokens
from explorer.labs.induction import findings
from explorer.labs.induction.state import InductionState
from explorer.ui.training.real_model_choice import choose_real_model

Result: TypeAlias = Union["repeated_tokens.RepeatScores", "repeated_tokens.Removal"]
_TITLES: Mapping[opened_model.Group, str] = {
    "best": "the best induction head",
    "two best": "the two best induction heads",
    "four best": "the four best induction heads",
    "previous-token head": "the previous-token head",
}
_DESCRIBED = ("the four best induction heads", "the previous-token head")  # in a sentence; the table has all


def real_model_section(session: ui.PageSession[InductionState]) -> None:
    """Draw the choice of an opened language model, and its induction heads."""
    ui.explanation(
        "The same test for a real language model: random tokens of its vocabulary, and then the same ones again. Heads "
        "are chosen by their scores on some sequences and removed on others (their output is set to zero). As a "
        "control, random heads of the same layers are removed instead."
    )
    if card := choose_real_model(session, "language model"):
        calls: dict[str, ui.Call[Result]] = {"scores": ui.Call(opened_model.induction_scores, card)}
        calls |= {group: ui.Call(opened_model.loss_without_group, card, group) for group in _TITLES}
        ui.show_each(
            "real-induction",
            calls,
            real_heads_view,
            waiting="The heads are scored, then removed; this takes some minutes for the first visitor …",
            height=420,
            pool="patient",
            partly=True,
        )


def real_heads_view(document: ui.Document, results: Mapping[str, Result]) -> None:
    """Write the best heads, and a table of the loss without them and without random heads."""
    scores = results.get("scores")
    if not isinstance(scores, repeated_tokens.RepeatScores):
        return
    removals = {
        title: found
        for name, title in _TITLES.items()
        if isinstance(found := results.get(name), repeated_tokens.Removal)
    }
    best, previous = scores.best_induction_heads(1)[0], scores.previous_token_head()
    document.finding(
        findings.real_heads_finding(
            (best, scores.induction_of(best)), (previous, scores.previous_of(previous)) if previous else None
        )
    )
    for title, removal in removals.items():
        document.text(findings.real_removal_text(title, removal) if title in _DESCRIBED else "")
    if first := next(iter(removals.values()), None):
        document.table("real-induction-table", removals_table(removals))
        document.caption(
            f"Loss on the second copy in nats per token. A dot is one of {len(first.with_all)} sequences of random "
            "tokens and their copy, or one group of random heads of the same layers (its mean over the sequences). In "
            "brackets: 95 % confidence intervals over sequences (Student’s t of pairs)."
        )


def removals_table(removals: Mapping[str, repeated_tokens.Removal]) -> charts.Table:
    """Return the loss without each group of heads, by title, and without random heads of the same layers."""
    first = next(iter(removals.values()))
    losses = [values for each in removals.values() for values in (each.without, each.controls)]
    top = float(np.ceil(charts.span_of(losses, 0.0)[1]))
    rows = [_row("no head", first.with_all, np.zeros(0))]
    rows += [_row(title, each.without, each.control_losses) for title, each in removals.items()]
    columns = {
        "head": charts.Column("without", wrap=True),
        "loss": charts.Column("loss (nats)", "strip", range=(0.0, top), each="sequence"),
        "control": charts.Column("random heads instead", "strip", range=(0.0, top), each="group"),
    }
    return charts.Table(columns, rows, "Loss on the second copy without heads of a real model")


def _row(title: str, losses: Float[ndarray, " sequences"], controls: Float[ndarray, " groups"]) -> charts.Row:
    return {
        "head": charts.Cell(title, "--m-pretrained"),
        "loss": charts.strip(f"{losses.mean():.2f}", losses),
        "control": charts.strip(f"{np.median(controls):.2f}" if len(controls) else "", controls),
    }
