"""The loss on the second copy without some heads, of the models of the page and of a real language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, Union

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import model_row
from explorer.inspection.pretrained import opened_model, repeated_tokens
from explorer.inspection.transformer import induction
from explorer.labs.induction import findings
from explorer.labs.induction.row_input import add_row_map, finished_runs
from explorer.labs.induction.state import ROLE_TITLES, InductionState

_ROW_LABELS = {"": "no head", "previous": "previous-token head", "induction": "induction head"}
Result: TypeAlias = Union["induction.AblationLosses", "tuple[induction.RowReading, induction.RowReading]", None]


def ablation_section(session: ui.PageSession[InductionState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the choice of a head, and the loss without it."""
    state = session.state
    runs = {name: run for name, run in finished_runs(views).items() if getattr(run.config.model, "layers", 0) > 1}
    if not runs:
        ui.explanation(
            "Without a finished run of a model with at least two layers there is no induction head to remove."
        )
        return
    name = state.shown_model if state.shown_model in runs else next(iter(runs))
    ui.explanation(
        "In every seed, the head with the highest score is removed. As a control, another head of the same layer is "
        "removed instead."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "without", st.pills)
        ui.bind_widget(session, "by", st.segmented_control)
    run = runs[name]
    calls: dict[str, ui.Call[Result]] = {
        "losses": ui.Call(induction.ablation_losses, run, state.by),
        "row": ui.Call(induction.predict_row_without, run, state.text, state.without),
    }
    ui.show_each(
        "induction-ablation",
        calls,
        ablation_view,
        state.without,
        state.by,
        state.variants[name].words,
        model_row(run.config.model).colour,
        waiting="The heads are removed in turn …",
        height=460,
    )


def ablation_view(
    document: ui.Document, results: Mapping[str, Result], role: str, by: str, words: str, colour: str
) -> None:
    """Write the loss without the head of a role, a table with all roles, and the predictions for the row.

    by: what replaces the output of the head
    words, colour: of the model
    """
    found, rows = results.get("losses"), results.get("row")
    if not isinstance(found, induction.AblationLosses):
        return
    if role not in found.without:
        document.text("This model has one head in that layer, so there is no other one to remove.")
        role = role.removesuffix("_control")
    title, losses = ROLE_TITLES[role], found.without[role]
    document.finding(findings.ablation_finding(title, found.base, losses))
    other = role.removesuffix("_control") if role.endswith("_control") else f"{role}_control"
    if other in found.without:
        document.text(findings.control_text(title, losses, ROLE_TITLES[other], found.without[other]))
    document.table("induction-ablation-table", losses_table(found, role, colour))
    document.caption(
        f"{ui.capitalize(words)}: loss on the second copy in nats per symbol, median and a dot for each of "
        f"{ui.count_seeds(len(found.base))}, with the output of the head replaced by "
        f"{'zero' if by == 'zero' else 'its mean over all positions'}."
    )
    if isinstance(rows, tuple):  # otherwise the section of the row shows why it cannot be read
        add_row_map(document, "induction-ablation-row", {"all heads": rows[0], "without": rows[1]})
        document.caption(
            f"The row above, with all heads and with {title} set to zero in every seed. Tiles: the predicted "
            "symbol. Below: the actual next symbol; the colour is its probability, median over the seeds."
        )


def losses_table(found: induction.AblationLosses, chosen: str, colour: str) -> charts.Table:
    """Return the loss without the head of each role; the rows of roles that are not chosen are pale."""
    losses = {"": found.base, **found.without}
    top = float(np.ceil(max(values.max() for values in losses.values())))
    rows = [
        {
            "head": charts.Cell(
                _ROW_LABELS.get(role, "a head beside it"), colour if role in ("", chosen) else "--soft"
            ),
            "loss": charts.strip(f"{np.median(values):.2f}", values),
        }
        for role, values in losses.items()
    ]
    columns = {"head": charts.Column("without"), "loss": charts.Column("loss (nats)", "strip", range=(0.0, top))}
    return charts.Table(columns, rows, "Loss on the second copy without a head")


# ---- a real language model


RealResult: TypeAlias = Union["repeated_tokens.RepeatScores", "repeated_tokens.Removal"]
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
    if card := ui.choose_real_model(session, "language model"):
        calls: dict[str, ui.Call[RealResult]] = {"scores": ui.Call(opened_model.induction_scores, card)}
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


def real_heads_view(document: ui.Document, results: Mapping[str, RealResult]) -> None:
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
    rows = [_removal_row("no head", first.with_all, np.zeros(0))]
    rows += [_removal_row(title, each.without, each.control_losses) for title, each in removals.items()]
    columns = {
        "head": charts.Column("without", wrap=True),
        "loss": charts.Column("loss (nats)", "strip", range=(0.0, top), each="sequence"),
        "control": charts.Column("random heads instead", "strip", range=(0.0, top), each="group"),
    }
    return charts.Table(columns, rows, "Loss on the second copy without heads of a real model")


def _removal_row(title: str, losses: Float[ndarray, " sequences"], controls: Float[ndarray, " groups"]) -> charts.Row:
    return {
        "head": charts.Cell(title, "--m-pretrained"),
        "loss": charts.strip(f"{losses.mean():.2f}", losses),
        "control": charts.strip(f"{np.median(controls):.2f}" if len(controls) else "", controls),
    }
