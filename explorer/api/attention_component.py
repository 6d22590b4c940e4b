"""The grid of attention heads as a component for notebooks: its data, and the answers of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.api.attention import Attention, AttentionSource, Reading
from explorer.api.components import NotebookComponent
from explorer.api.embedding import arrays_address, json_address
from explorer.inspection.attention.attend import Ablation, AttentionResult, attend, check_head, is_causal, pack_weights
from explorer.models.structure import AttentionLayout

MAX_BYTES = 1_000_000  # of the weights of all steps of the slider together
_MIN_SNAPSHOTS = 3  # a run with fewer has no training slider
_MAX_ANSWERS = 5


@dataclass
class _State:
    """The choices of the user in the component; the fields have the names of its events."""

    open: list[int]
    step: int
    asked: int
    scale: str = "one"
    sort: str = "place"
    view: str = "lines"
    touch: dict[str, Any] = field(default_factory=lambda: {"off": [], "flat": [], "unmasked": False, "unplaced": False})

    @property
    def ablation(self) -> Ablation:
        off, flat = (frozenset((int(layer), int(head)) for layer, head in self.touch[name]) for name in ("off", "flat"))
        return Ablation(off, flat, self.touch["unmasked"] is True, self.touch["unplaced"] is True)


def attention_component(attention: Attention, layer: int, head: int, live: bool) -> NotebookComponent:
    """Return the component of an attention; see `Attention.show`. Raises InvalidSetting."""
    source = attention.source
    model, reading = source.read(attention.text, attention.seed, attention.step, attention.part)
    check_head(model.layout, layer, head)
    state = _State([layer, head], attention.step, reading.asked)
    snapshots = _snapshots(attention, reading)  # without intervention, so no event changes them

    def on_event(event: str, value: Any) -> dict[str, object] | None:
        """Apply an event; return the new data if the model has to answer."""
        if event not in ("asked", "step", "touch"):
            if event in ("open", "scale", "sort", "view"):
                setattr(state, event, value)
            return None
        changed = replace(state, **{event: value})
        data = _data(attention, changed, snapshots)  # raises for an impossible intervention
        setattr(state, event, value)
        return data

    title, data = f"Attention of {source.name} on “{attention.text}”", _data(attention, state, snapshots)
    return NotebookComponent("attention_heads", title, data, on_event, live)


def _data(attention: Attention, state: _State, snapshots: Mapping[str, object] | None) -> dict[str, object]:
    """Return the data of the component; its view.js explains it.

    attention: the model that attends, and its text
    state: what is chosen in the component
    snapshots: the data of the training slider

    Raises InvalidSetting for an intervention that the model does not have.
    """
    source = attention.source
    model, reading = source.read(attention.text, attention.seed, state.step, attention.part)
    ids, layout = reading.given, model.layout
    original, is_ablated = attend(model, ids), state.ablation != Ablation()
    ablated = attend(model, ids, state.ablation) if is_ablated else original
    causal = is_causal(ablated.weights)
    return {
        "tokens": list(reading.tokens),
        **({} if reading.keys == reading.tokens else {"keys": list(reading.keys)}),
        "ids": list(reading.ids),
        "layers": layout.layers,
        "heads": layout.heads,
        "causal": causal,
        "masked": np.flatnonzero(np.isnan(ablated.weights).all(axis=(0, 1, 2))).tolist(),
        "address": arrays_address({"weights": pack_weights(ablated.weights, causal)}),
        "open": state.open,
        "asked": state.asked,
        "scale": state.scale,
        "sort": state.sort,
        "view": state.view,
        "snapshots": snapshots,
        "step": state.step,
        "touch": state.touch,
        "can": {"mask": layout.causal, "positions": layout.positions},
        "worth": None,
        "worth_error": None,
        "worth_of": "",
        "answers": _answers(source, layout, reading, state.asked, original, ablated, is_ablated),
        "unit": source.unit,
        "colour": source.colour,
        "title": source.title,
        "file": "attention",
    }


def _snapshots(attention: Attention, reading: Reading) -> dict[str, object] | None:
    """Return the data of the training slider: the weights at evenly spaced steps, as many as fit into MAX_BYTES.

    None for a model with too few stored steps.
    """
    source, steps = attention.source, list(attention.source.steps)
    if len(steps) < _MIN_SNAPSHOTS or reading.keys != reading.tokens:
        return None

    def weights_after(step: int) -> Float[ndarray, "layers heads query key"]:
        model, same = source.read(attention.text, attention.seed, step, attention.part)
        return attend(model, same.given).weights

    last = weights_after(steps[-1])
    causal = is_causal(last)
    most = max(2, MAX_BYTES // pack_weights(last, causal).nbytes)
    if len(steps) > most:
        steps = [steps[round(i)] for i in np.linspace(0, len(steps) - 1, most)]
    weights = np.stack([pack_weights(weights_after(step), causal) for step in steps])
    return {
        "steps": steps,
        "curve": source.held_out_losses(attention.seed),
        "unit": "nats",
        "address": json_address({"address": arrays_address({"weights": weights})}),
    }


def _answers(
    source: AttentionSource,
    layout: AttentionLayout,
    reading: Reading,
    asked: int,
    original: AttentionResult,
    ablated: AttentionResult,
    changed: bool,
) -> dict[str, object] | None:
    """Return the most probable answers at the query token, with and without the intervention.

    source: what names the answers
    layout: where the model answers; None is returned if it answers nothing
    reading: the tokens of the text
    asked: the position of the query token
    original: the result without intervention
    ablated: the result with it
    changed: whether there is an intervention
    """
    if not layout.answers:
        return None
    row = asked if layout.answers_every_token else 0
    now, before = (np.exp(each.log_probabilities[row]) for each in (ablated, original))
    shown = np.argsort(-np.maximum(now, before), kind="stable")[:_MAX_ANSWERS]
    names = {int(i): source.outcome_text(int(i), reading.ids) for i in shown}
    end = source.separator.join(reading.tokens[: row + 1])[-24:].replace("\n", "↵")
    where = f"in place of “{reading.tokens[row].strip()}”" if source.predicts_in_place else f"after “{end}”"
    return {
        "where": where if layout.answers_every_token else "read at the first token",
        "rows": [
            {"text": names[int(i)], "now": round(float(now[i]), 6), "before": round(float(before[i]), 6)} for i in shown
        ],
        "changed": changed,
    }
