"""Which heads a model needs: its loss without each (Michel et al. 2019), and what each adds to the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explorer import charts, ui
from explorer.charts.style import SOFT
from explorer.inspection.attention import attend, attention_model, logit_attribution, outcomes
from explorer.labs.attention import findings
from explorer.labs.attention.chosen_answers import chosen_outcomes
from explorer.labs.attention.measurements import query_position, tokenize_text
from explorer.labs.attention.state import AttentionState
from explorer.model.model import Evaluated, Model
from explorer.ui.wording import visible_whitespace

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance


MAX_HEADS = 32  # that the figure of head importance shows
_IMPORTANCE_TEXTS: Mapping[Evaluated, str] = {
    "held-out text": "text that was not in the training",
    "sentences of the task": "sentences of the task",
    "this text": "the text above",
    "": "text that was not in the training",
}


def importance_call(stored_model: Model, state: AttentionState) -> ui.Call[HeadImportance] | None:
    """Return the call that measures the head importance; None where it cannot be measured."""
    if not stored_model.importance_text:
        return None
    text = stored_model.text_or_example(state.say) if stored_model.importance_text == "this text" else ""
    return ui.Call(type(stored_model).head_importance, stored_model, state.seed, text)


def importance_section(state: AttentionState, stored_model: Model) -> None:
    """Draw the importance of each head, for a model with a loss to measure."""
    call = importance_call(stored_model, state)
    if call is None and not stored_model.importance_problem:
        return
    sample = _IMPORTANCE_TEXTS[stored_model.importance_text]
    ui.explanation(
        f"Each head is switched off in turn, and the loss is measured on {sample}. "
        "A head with an interesting pattern can be unimportant, and one with a dull pattern can be needed."
    )
    if call is None:
        ui.caption(stored_model.importance_problem)
        return
    if state.step is not None or state.is_ablated:
        ui.caption("Measured on the unchanged model at the end of training.")
    duration = "up to a minute" if stored_model.importance_text == "this text" else "a few seconds"
    waiting = f"The loss without each head is measured; this takes {duration} …"
    ui.show("gaze-worth", call, importance_view, stored_model.colour, waiting=waiting, height=300, pool="patient")


def importance_view(document: ui.Document, measured: HeadImportance, colour: str) -> None:
    """Write the loss without each head, the most important one on top, with two standard errors on either side."""
    layers, heads = measured.ablated_loss.shape
    labels = [f"layer {i + 1}, head {j + 1}" for i in range(layers) for j in range(heads)]
    document.finding(findings.importance_finding(measured, labels))
    values, errors = measured.importance.reshape(-1), 2 * measured.error.reshape(-1)
    largest = np.sort(np.argsort(-np.abs(values), kind="stable")[:MAX_HEADS])
    shown = largest[np.argsort(-values[largest])]
    rows = [charts.DotRow(labels[i], colour, values[[i]], error=errors[[i]]) for i in shown]
    span = charts.span_of([values[shown] - errors[shown], values[shown] + errors[shown], [0.0]])
    x = charts.Axis(f"change of the {measured.metric}", span)
    zero = charts.Rule(0.0, True, SOFT, "solid")
    chart = charts.DotChart("Loss without each head, compared with that of the whole model", rows, x, [zero])
    caption = findings.importance_caption(measured)
    if len(shown) < len(labels):
        caption += f" Shown are the {len(shown)} heads of {len(labels)} without which the loss changes most."
    panel = ui.Panel("gaze-worth", chart, caption=caption)
    document.figures("gaze-worth", [panel], height=90 + 30 * len(shown), columns=1)


MAX_PARTS = 12  # that have bars of their own; all other parts have one together


@dataclass(frozen=True, eq=False)
class AttributedAnswer:
    """What the parts of a model add to one outcome, compared with another one."""

    input: attend.TokenizedInput
    attribution: logit_attribution.LogitAttribution | None  # None for a model whose parts do not add up


def attribution_section(state: AttentionState, stored_model: Model) -> None:
    """Draw what each part adds to the difference between the chosen or the two most probable answers."""
    ui.explanation(
        "**Direct logit attribution**: the last state is the sum of the embedding and of what all heads and "
        "feedforward layers add, so the logit is a sum of their shares. What a part does by way of later parts counts "
        "for those, so a head without a share of its own can still be needed."
    )
    ui.show(
        "gaze-attribution",
        ui.Call(attribute_answer, stored_model, state.computation_settings("at", "answer", "contrast", ablated=False)),
        attribution_view,
        stored_model,
        bool(state.answer or state.contrast),
        waiting="The logit is divided among the parts …",
        height=420,
        pool=stored_model.pool,
    )


def attribute_answer(stored_model: Model, state: AttentionState) -> AttributedAnswer:
    """Divide the difference of the logits of two answers of the unchanged model.

    They are those that the visitor chooses, otherwise the most probable ones.
    """
    tokenized = tokenize_text(stored_model, state)
    model = attention_model.attention_model(stored_model.module(state.seed, state.step))
    if not model.adds_up:
        return AttributedAnswer(tokenized, None)
    position = query_position(stored_model, state.at, tokenized.tokens)
    logits = outcomes.answer_logits(model, tokenized.ids, position)
    first, second, *_ = outcomes.choose_outcomes(logits, logits, *chosen_outcomes(stored_model, state, logits))
    return AttributedAnswer(tokenized, logit_attribution.attribute_logit(model, tokenized.ids, position, first, second))


def largest_parts(parts: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the parts with the largest shares of either sign, and the sum of all others."""
    ordered = sorted(parts, key=lambda part: -abs(part[1]))
    shown, others = ordered[:MAX_PARTS], ordered[MAX_PARTS:]
    return [*shown, (f"{len(others)} other parts", sum(value for _, value in others))] if others else shown


def attribution_view(document: ui.Document, answer: AttributedAnswer, stored_model: Model, chosen: bool) -> None:
    """Write what each part adds to the difference of two answers; `chosen`: whether the visitor has chosen one."""
    found = answer.attribution
    if found is None or found.contrast is None:
        document.text(logit_attribution.NOT_A_SUM)
        return
    before = answer.input.ids[: found.position + 1]
    first, second = (
        visible_whitespace(stored_model.outcome_text(outcome, before)) for outcome in (found.outcome, found.contrast)
    )
    document.finding(findings.attribution_finding(found, (first, second)))
    parts = largest_parts(found.parts())
    caption = (
        f"What each part adds to the logit of “{first}” minus that of “{second}”; the scale of the final norm is "
        "held at its value. The shares add up to the difference."
        f"{' The answers are those of the section on patching.' if chosen else ''}"
    )
    chart = charts.waterfall([name for name, _ in parts], [value for _, value in parts])
    panel = ui.Panel("gaze-attribution", chart, caption=caption)
    document.figures("gaze-attribution", [panel], height=60 + 30 * (len(parts) + 1), columns=1)
