"""The loss on the second copy without one head of every seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.inspection.transformer import induction
from explorer.labs.induction import findings
from explorer.labs.induction.row_input import Views, add_row_map, head_scores, loaded_model, select_finished
from explorer.labs.induction.state import ROLE_TITLES, InductionState
from explorer.ui.components.table import add_table, column, strip_cell
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import capitalize, count_seeds


@dataclass(frozen=True, eq=False)
class AblationLosses:
    """The loss on the second copy of every seed, with all heads and without the head of each role."""

    base: Float[ndarray, " seeds"]
    without: Mapping[str, Float[ndarray, " seeds"]]


@dataclass(frozen=True, eq=False)
class RowPair:
    """Predictions for the row of the page, with all heads and without one; None for a row that cannot be read."""

    readings: tuple[induction.RowReading, induction.RowReading] | None


_ROW_LABELS = {"previous": "previous-token head", "induction": "induction head"}
Results: TypeAlias = Mapping[str, AblationLosses | RowPair]


def ablation_section(session: PageSession[InductionState], views: Views) -> None:
    """Draw the choice of a head, and the loss without it."""
    state = session.state
    trained = {name: view for name, view in select_finished(views).items() if _has_two_layers(view)}
    if not trained:
        explanation("Without a finished run of a model with at least two layers there is no induction head to remove.")
        return
    name = state.shown_model if state.shown_model in trained else next(iter(trained))
    explanation(
        "In every seed, the head with the highest score is removed. As a control, another head of the same layer is "
        "removed instead."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "without", st.pills)
        bind_widget(session, "by", st.segmented_control)
    view = trained[name]
    requests: dict[str, Request[AblationLosses | RowPair]] = {
        "losses": (("induction-ablation", *view.cache_key, state.by), partial(_measure_losses, view, state.by)),
        "row": (
            ("induction-ablation-row", *view.cache_key, state.text, state.without),
            partial(_read_rows, view, state.text, state.without),
        ),
    }
    words = state.variants[name].words
    draw = partial(_draw, state.without, state.by, words, view.row.colour)
    result_section("induction-ablation", requests, draw, "The heads are removed in turn …", 460)


def _has_two_layers(view: RunView) -> bool:
    return int(getattr(view.config.model, "layers", 0)) > 1


def _measure_losses(view: RunView, by: Literal["zero", "mean"]) -> AblationLosses:
    """Remove the head of each role in turn. Raises DamagedRun."""
    loaded = loaded_model(view)
    scores = head_scores(view)
    roles = induction.find_roles(scores)
    without = {role: induction.loss_without(loaded, [[heads[role]] for heads in roles], by) for role in roles[0]}
    return AblationLosses(scores.second_copy_loss, without)


def _read_rows(view: RunView, text: str, role: str) -> RowPair:
    """Predict the row with and without a head. Raises DamagedRun."""
    loaded = loaded_model(view)
    roles = induction.find_roles(head_scores(view))
    heads = [[each[role]] if role in each else [] for each in roles]
    try:
        return RowPair((induction.read_row(loaded, text), induction.read_row(loaded, text, heads)))
    except InvalidSetting:  # the section of the row shows the message
        return RowPair(None)


def _draw(role: str, by: str, words: str, colour: str, document: Document, results: Results) -> None:
    found, rows = results.get("losses"), results.get("row")
    if not isinstance(found, AblationLosses):
        return
    if role not in found.without:
        document.text("This model has one head in that layer, so there is no other one to remove.")
        role = role.removesuffix("_control")
    title, losses = ROLE_TITLES[role], found.without[role]
    document.finding(findings.ablation_finding(title, found.base, losses))
    other = role.removesuffix("_control") if role.endswith("_control") else f"{role}_control"
    if other in found.without:
        document.text(findings.control_text(title, losses, ROLE_TITLES[other], found.without[other]))
    _add_losses(document, role, colour, found)
    document.caption(
        f"{capitalize(words)}: loss on the second copy in nats per symbol, median and a dot for each of "
        f"{count_seeds(len(found.base))}, with the output of the head replaced by "
        f"{'zero' if by == 'zero' else 'its mean over all positions'}."
    )
    if isinstance(rows, RowPair) and rows.readings:
        labels = ("all heads", "without")
        add_row_map(document, "induction-ablation-row", dict(zip(labels, rows.readings, strict=True)))
        document.caption(
            f"The row above, with all heads and with {title} set to zero in every seed. Tiles: the predicted "
            "symbol. Below: the actual next symbol; the colour is its probability, median over the seeds."
        )


def _add_losses(document: Document, chosen: str, colour: str, found: AblationLosses) -> None:
    top = float(np.ceil(max(found.base.max(), *(losses.max() for losses in found.without.values()))))
    labels = {"": "no head", **{role: _ROW_LABELS.get(role, "a head beside it") for role in found.without}}
    rows: list[dict[str, object]] = [
        {
            "cells": {
                "head": {"text": label, "colour": colour},
                "loss": strip_cell(f"{np.median(losses):.2f}", losses, 3, mark=None),
            },
            "faded": role not in ("", chosen),
        }
        for (role, label), losses in zip(labels.items(), [found.base, *found.without.values()], strict=True)
    ]
    columns = [
        column("head", "without"),
        column("loss", "loss (nats)", "strip", range=[0, top]),
    ]
    add_table(document, columns, rows, key="induction-ablation-table", label="Loss on the second copy without a head")
