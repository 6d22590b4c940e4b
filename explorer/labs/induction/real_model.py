"""Induction heads of a real language model: their scores, and the loss on the second copy without them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias, Union

import numpy as np

from explorer.hub.card import ModelCard
from explorer.inspection.pretrained import opened_model, repeated_tokens
from explorer.labs.induction import findings
from explorer.labs.induction.state import InductionState
from explorer.ui.components.table import add_table, column, strip_cell
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.training.real_model_choice import card_key, choose_real_model

Result: TypeAlias = Union["repeated_tokens.RepeatScores", "repeated_tokens.Removal"]
_GROUPS = ("best", "two best", "four best", "previous-token head")  # of `opened_model.Group`, which needs torch
_DESCRIBED = ("four best", "previous-token head")  # in a sentence; the table has all
_TITLES = {
    "best": "the best induction head",
    "two best": "the two best induction heads",
    "four best": "the four best induction heads",
    "previous-token head": "the previous-token head",
}


def real_model_section(session: PageSession[InductionState]) -> None:
    """Draw the choice of an opened language model, and its induction heads."""
    explanation(
        "The same test for a real language model: random tokens of its vocabulary, and then the same ones again. Heads "
        "are chosen by their scores on some sequences and removed on others (their output is set to zero). As a "
        "control, random heads of the same layers are removed instead."
    )
    card = choose_real_model(session, "language model")
    if card is None:
        return
    requests: dict[str, Request[Result]] = {
        "scores": (("real-induction-scores", *card_key(card)), lambda: opened_model.induction_scores(card)),
        **{group: (("real-induction", *card_key(card), group), partial(_removal, card, group)) for group in _GROUPS},
    }
    result_section(
        "real-induction",
        requests,
        _draw,
        "The heads are scored, then removed; this takes some minutes for the first visitor …",
        420,
        pool="patient",
        partly=True,
    )


def _removal(card: ModelCard, group: str) -> repeated_tokens.Removal:
    return opened_model.loss_without_group(card, group)


def _draw(document: Document, results: Mapping[str, Result]) -> None:
    scores = results.get("scores")
    if not isinstance(scores, repeated_tokens.RepeatScores):
        return
    removals = {name: found for name, found in results.items() if isinstance(found, repeated_tokens.Removal)}
    best, previous = scores.best_induction_heads(1)[0], scores.previous_token_head()
    document.finding(
        findings.real_heads_finding(
            (best, scores.induction_of(best)), (previous, scores.previous_of(previous)) if previous else None
        )
    )
    for name in _DESCRIBED:
        if (removal := removals.get(name)) is None:
            continue
        increase, controls = removal.increase, removal.control_losses
        document.text(
            findings.real_removal_text(
                _TITLES[name],
                removal.heads,
                float(removal.with_all.mean()),
                float(removal.without.mean()),
                (increase.mean, increase.low, increase.high),
                controls,
                removal.p,
            )
        )
    if first := next(iter(removals.values()), None):
        _add_losses(document, removals)
        document.caption(
            f"Loss on the second copy in nats per token. A dot is one of {len(first.with_all)} sequences of random "
            "tokens and their copy, or one group of random heads of the same layers (its mean over the sequences). In "
            "brackets: 95 % confidence intervals over sequences (Student’s t of pairs)."
        )


def _add_losses(document: Document, removals: Mapping[str, repeated_tokens.Removal]) -> None:
    first = next(iter(removals.values()))
    highest = max(
        float(values.max()) for each in removals.values() for values in (each.without, each.controls) if values.size
    )
    top = float(np.ceil(highest))
    rows: list[dict[str, object]] = [_row("no head", first.with_all, np.zeros(0))]
    rows += [_row(_TITLES[name], each.without, each.control_losses) for name, each in removals.items()]
    columns = [
        column("head", "without", wrap=True),
        _strip("loss", "loss (nats)", top, "sequence"),
        _strip("control", "random heads instead", top, "group"),
    ]
    label = "Loss on the second copy without heads of a real model"
    add_table(document, columns, rows, key="real-induction-table", label=label)


def _strip(key: str, label: str, top: float, each: str) -> dict[str, object]:
    return column(key, label, "strip", range=[0, top], each=each)


def _row(title: str, losses: np.ndarray, controls: np.ndarray) -> dict[str, object]:
    def cell(values: np.ndarray, middle: float) -> dict[str, object]:
        return strip_cell(f"{middle:.2f}", values, 2, mark=None)

    return {
        "head": {"text": title, "colour": "--m-pretrained"},
        "loss": cell(losses, float(losses.mean())),
        "control": cell(controls, float(np.median(controls))) if len(controls) else {"text": "", "values": []},
    }
