"""The grid of attention heads as a component for notebooks: its data, and the answers of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy import ndarray

from explorer.api.attention import Attention, tokenize
from explorer.api.components import NotebookComponent
from explorer.api.embedding import arrays_address, json_address
from explorer.api.predictions import TRANSLATION, tokenizer_of
from explorer.api.run import Run
from explorer.catalogue import model_row
from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import (
    Ablation,
    AttentionResult,
    TokenizedInput,
    attend,
    check_head,
    pack_weights,
)
from explorer.inspection.attention.attention_model import attention_model
from explorer.inspection.compare import held_out_losses
from explorer.models.configs import TransformerEncoderConfig, TransformerTextConfig
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import Language
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import pieces

MAX_BYTES = 1_000_000  # of the weights of all steps of the slider together
_MIN_SNAPSHOTS = 3  # a run with fewer has no training slider
_MAX_ANSWERS = 5
_UNITS = {"char": "letter", "word": "word"}  # by tokenizer


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
    run = attention.run
    if isinstance(run.config.task, TRANSLATION):
        raise InvalidSetting("The attention from a translation to its source is shown by plot(), not by show().")
    check_head(attention_model(run.model(seed=attention.seed)).layout, layer, head)
    given = tokenize(run, attention.text)
    last = len(given.ids) - 1 if _answers_every_token(run) else 0
    state = _State([layer, head], attention.step, last)
    snapshots = _snapshots(run, given, attention.seed)  # without intervention, so no event changes them

    def on_event(event: str, value: Any) -> dict[str, object] | None:
        """Apply an event; return the new data if the model has to answer."""
        if event not in ("asked", "step", "touch"):
            if event in ("open", "scale", "sort", "view"):
                setattr(state, event, value)
            return None
        changed = replace(state, **{event: value})
        data = _data(run, given, attention.seed, changed, snapshots)  # raises for an impossible intervention
        setattr(state, event, value)
        return data

    title, data = f"Attention of {run.name} on “{attention.text}”", _data(run, given, attention.seed, state, snapshots)
    return NotebookComponent("attention_heads", title, data, on_event, live)


def _data(
    run: Run, given: TokenizedInput, seed: int, state: _State, snapshots: Mapping[str, object] | None
) -> dict[str, object]:
    """Return the data of the component; its view.js explains it.

    run: the run whose model attends
    given: the tokens of the text
    seed: the seed of the model
    state: what is chosen in the component
    snapshots: the data of the training slider

    Raises InvalidSetting for an intervention that the model does not have.
    """
    model = run.model(step=state.step, seed=seed)
    original, layout = attend(model, given.ids), attention_model(model).layout
    is_ablated = state.ablation != Ablation()
    ablated = attend(model, given.ids, state.ablation) if is_ablated else original
    causal = _is_causal(run) and not state.ablation.no_causal_mask
    task = run.config.task
    return {
        "tokens": list(given.tokens),
        "ids": list(given.ids),
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
        "answers": _answers(run, given, state.asked, original, ablated, is_ablated),
        "unit": _UNITS.get(task.tokenizer, "token") if isinstance(task, TextConfig) else "word",
        "colour": model_row(run.config.model).colour,
        "title": run.config.title,
        "file": "attention",
    }


def _snapshots(run: Run, given: TokenizedInput, seed: int) -> dict[str, object] | None:
    """Return the data of the training slider: the weights at evenly spaced steps, as many as fit into MAX_BYTES.

    None for a run with too few stored steps.
    """
    steps, causal = run.steps, _is_causal(run)
    if len(steps) < _MIN_SNAPSHOTS:
        return None

    def weights_after(step: int) -> ndarray:
        return pack_weights(attend(run.model(step=step, seed=seed), given.ids).weights, causal)

    most = max(2, MAX_BYTES // weights_after(steps[-1]).nbytes)
    if len(steps) > most:
        steps = [steps[round(i)] for i in np.linspace(0, len(steps) - 1, most)]
    weights = np.stack([weights_after(step) for step in steps])
    return {
        "steps": steps,
        "curve": held_out_losses(run.curves_of_run, run.seeds.index(seed)),
        "unit": "nats",
        "address": json_address({"address": arrays_address({"weights": weights})}),
    }


def _answers(
    run: Run, given: TokenizedInput, asked: int, original: AttentionResult, ablated: AttentionResult, changed: bool
) -> dict[str, object]:
    """Return the most probable answers at the query token, with and without the intervention.

    run: the run whose model answers
    given: the tokens of the text
    asked: the position of the query token
    original: the result without intervention
    ablated: the result with it
    changed: whether there is an intervention
    """
    task: Any = run.config.task
    row = asked if _answers_every_token(run) else 0
    now, before = (np.exp(each.log_probabilities[row]) for each in (ablated, original))
    shown = np.argsort(-np.maximum(now, before), kind="stable")[:_MAX_ANSWERS]
    if isinstance(task, TextConfig):
        tokenizer = tokenizer_of(run.source)
        names = {int(i): pieces(tokenizer, [int(i)], given.ids[-16:])[0] or tokenizer.tokens[i] for i in shown}
    else:
        labels = Language.from_json(run.source.tokenizer).classes if isinstance(task, NegationConfig) else task.labels
        names = dict(enumerate(labels))
    between = "" if isinstance(task, TextConfig) else " "
    end = between.join(given.tokens[: row + 1])[-24:].replace("\n", "↵")
    return {
        "where": f"after “{end}”" if _answers_every_token(run) else "read at the first token",
        "rows": [
            {"text": names[int(i)], "now": round(float(now[i]), 6), "before": round(float(before[i]), 6)} for i in shown
        ],
        "changed": changed,
    }


def _answers_every_token(run: Run) -> bool:
    """Return whether the model predicts at every token; a classifier predicts at its first token only."""
    return not isinstance(run.config.model, TransformerEncoderConfig)


def _is_causal(run: Run) -> bool:
    return isinstance(run.config.model, TransformerTextConfig) or bool(getattr(run.config.model, "causal", False))
