"""The attention of a model on a text: weights of every head as arrays, tables, figures, and a notebook component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float32
from numpy import ndarray

from explorer import charts
from explorer.api.arguments import as_whole_number, require_flag, require_text, require_whole_number, warn
from explorer.api.components import NotebookComponent
from explorer.api.embedding import arrays_address, json_address
from explorer.errors import InvalidSetting, shorten
from explorer.hub.allowed import PREFIX
from explorer.inspection.attention.alignment import align
from explorer.inspection.attention.attend import AttentionResult, TokenizedInput, attend, is_causal, pack_weights
from explorer.inspection.attention.head_ablation import Ablation, check_head
from explorer.model.model import Model, Part, TextAttention
from explorer.model.run_model import RunModel
from explorer.tasks.seq2seq.config import TRANSLATION_CONFIGS, source_ids, source_vocabulary, target_vocabulary

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from pandas import DataFrame

MAX_BYTES = 1_000_000  # of the weights of all steps of the slider together
_MIN_SNAPSHOTS = 3  # a run with fewer has no training slider
_MAX_ANSWERS = 5
Read: TypeAlias = tuple[TokenizedInput, TextAttention]  # a text and the attention to it


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention weights of one model (one seed at one step) on one text.

    weights: (layers, heads, query, key), each row adds up to 1; NaN where a mask hides the key. A translation model
        attends from the tokens that it generates (queries) to those of the source (keys).
    tokens: the query tokens. keys: the key tokens, the same unless the model translates.
    unread: sentences about what the model does not read of the text; empty if it reads everything.
    """

    weights: Float32[ndarray, "layers heads query key"]
    tokens: tuple[str, ...]
    keys: tuple[str, ...]
    title: str
    text: str
    seed: int
    step: int
    model: Model
    part: Part = ""  # of an encoder–decoder: encoder, decoder or cross
    unread: str = ""

    @property
    def layers(self) -> int:
        """The number of layers with attention."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """The number of heads in each layer."""
        return int(self.weights.shape[1])

    def table(self) -> DataFrame:
        """Return a row for each visible pair: layer, head, query and key (positions), their tokens, and the weight."""
        layer, head, query, key = np.nonzero(~np.isnan(self.weights))
        return pd.DataFrame(
            {
                "layer": layer,
                "head": head,
                "query": query,
                "key": key,
                "query_token": np.array(self.tokens, dtype=object)[query],
                "key_token": np.array(self.keys, dtype=object)[key],
                "weight": self.weights[layer, head, query, key].astype(float),
            }
        )

    def plot(self, layer: int = -1, head: int | None = None) -> go.Figure:
        """Return a plotly heat map of the weights: rows are query tokens, columns the key tokens they attend to.

        layer: counted from 0; -1 is the last one. head: counted from 0; None is the mean over the heads.
        Raises InvalidSetting for a layer or a head that the model does not have.
        """
        layers, heads = self.layers, self.heads
        at, one = as_whole_number(layer), as_whole_number(head)
        if at is None or not -layers <= at < layers:
            raise InvalidSetting(f"There is no layer {shorten(layer)}. Give a number from 0 to {layers - 1}.")
        if head is not None and (one is None or not -heads <= one < heads):
            raise InvalidSetting(
                f"There is no head {shorten(head)}. Give a number from 0 to {heads - 1}, or None for the mean."
            )
        weights = self.weights[at].mean(axis=0) if one is None else self.weights[at, one]
        which = "mean over the heads" if one is None else f"head {one % heads}"
        rows, columns = (list(map(charts.show_whitespace, tokens)) for tokens in (self.tokens, self.keys))
        hover = [[f"{row} attends to {column}" for column in columns] for row in rows]
        chart = charts.HeatMap(
            "Attention weights",
            "weight",
            rows,
            columns,
            weights,
            columns_title="key token",
            rows_title="query token",
            hover=hover,
        )
        return charts.notebook_figure(chart, f"{self.title}: layer {at % layers}, {which}")

    def show(self, layer: int = 0, head: int = 0, *, live: bool = False) -> NotebookComponent:
        """Return the grid of heads of the app for a notebook, with this head open; see `NotebookComponent`.

        The slider shows the weights at every stored step of the training.

        live: heads, the causal mask and positions can be switched off as well; the model in the kernel computes its
            prediction under this intervention. It needs the package anywidget.

        Raises InvalidSetting for a translation model, whose attention `plot` shows, and for a head it does not have.
        """
        layer, head = require_whole_number("layer", layer, 0), require_whole_number("head", head, 0)
        return _attention_component(self, layer, head, require_flag("live", live))

    def __repr__(self) -> str:
        state = f", seed {self.seed}, step {self.step:,}" if self.model.steps else ""
        return (
            f"Attention({self.title}, {self.layers} layers × {self.heads} heads, {len(self.tokens)} queries × "
            f"{len(self.keys)} keys{state})"
        )


def attention(model: Model, text: str, replica: int, step: int | None, part: Part = "") -> Attention:
    """Return the attention of a model on a text; see `InspectedModel.attention`. Raises LineageError."""
    of = (model.title, text, model.seeds[replica], step or 0, model)
    if isinstance(model, RunModel) and isinstance(model.config.task, TRANSLATION_CONFIGS):
        weights, tokens, keys = _alignment(model, text, replica, step)
        return Attention(weights, tokens, keys, *of)
    given, found = read_text(model, text, replica, step, part)
    weights = attend(found.model, given.ids).weights
    warn(given.unread)
    return Attention(weights, found.queries, found.keys, *of, part, given.unread)


def read_text(model: Model, text: object, replica: int, step: int | None, part: Part = "") -> Read:
    """Return the tokens of a text and the attention to them. Raises LineageError."""
    text = require_text(text)
    if isinstance(model, RunModel) and isinstance(model.config.task, TRANSLATION_CONFIGS):
        raise InvalidSetting(
            "This run translates: its attention is shown by plot(). Patching, logit attribution and show() need a "
            'run of another task, such as explorer.load("negation-single-transformer").'
        )
    given = model.tokenize(text)
    return given, model.attention(given, part, replica, step if model.steps else None)


def _alignment(
    model: RunModel, text: str, replica: int, step: int | None
) -> tuple[ndarray, tuple[str, ...], tuple[str, ...]]:
    task: Any = model.config.task
    module: Any = model.module(replica, step)
    found = align(module, task, source_ids(task, text))
    if found.weights is None:
        raise InvalidSetting(
            f"This {model.title} has no attention: the encoder passes one vector to the decoder. Choose a run with "
            "attention."
        )
    target, source = target_vocabulary(task), source_vocabulary(task)
    return found.weights, tuple(target[i] for i in found.target), tuple(source[i] for i in found.source)


@dataclass
class _State:
    """The choices of the user in the component; the fields have the names of its events and of its data."""

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


def _attention_component(attention: Attention, layer: int, head: int, live: bool) -> NotebookComponent:
    model = attention.model
    given, found = _read_again(attention, attention.step)
    check_head(found.model.layout, layer, head)
    state = _State([layer, head], attention.step, model.default_query(found.queries))
    snapshots = _snapshots(attention, given)  # without intervention, so no event changes them

    def on_event(event: str, value: Any) -> dict[str, object] | None:
        if event not in ("asked", "step", "touch"):
            if event in ("open", "scale", "sort", "view"):
                setattr(state, event, value)
            return None
        changed = replace(state, **{event: value})
        data = _component_data(attention, changed, snapshots)  # raises for an impossible intervention
        setattr(state, event, value)
        return data

    title = f"Attention of {model.name.removeprefix(PREFIX)} on “{attention.text}”"
    data = _component_data(attention, state, snapshots)
    return NotebookComponent("attention_heads", title, data, on_event, live)


def _read_again(attention: Attention, step: int) -> Read:
    replica = attention.model.seeds.index(attention.seed)
    return read_text(attention.model, attention.text, replica, step, attention.part)


def _component_data(attention: Attention, state: _State, snapshots: Mapping[str, object] | None) -> dict[str, object]:
    """Return the data of the component, which its view.js explains; `snapshots` are those of the training slider.

    Raises InvalidSetting for an intervention that the model does not have.
    """
    model = attention.model
    given, found = _read_again(attention, state.step)
    layout = found.model.layout
    original, is_ablated = attend(found.model, given.ids), state.ablation != Ablation()
    ablated = attend(found.model, given.ids, state.ablation) if is_ablated else original
    causal = is_causal(ablated.weights)
    return {
        "tokens": list(found.queries),
        **({} if found.keys == found.queries else {"keys": list(found.keys)}),
        "ids": list(found.ids),
        "layers": layout.layers,
        "heads": layout.heads,
        "causal": causal,
        "masked": np.flatnonzero(np.isnan(ablated.weights).all(axis=(0, 1, 2))).tolist(),
        "address": arrays_address({"weights": pack_weights(ablated.weights, causal)}),
        **vars(state),
        "snapshots": snapshots,
        "can": {"mask": layout.causal, "positions": layout.positions},
        "worth": None,
        "worth_error": None,
        "worth_of": "",
        "answers": _answers(model, found, state.asked, original, ablated) if layout.answers else None,
        "unit": model.unit,
        "colour": model.colour,
        "title": model.title,
        "file": "attention",
    }


def _snapshots(attention: Attention, given: TokenizedInput) -> dict[str, object] | None:
    """Return the data of the training slider: the weights at evenly spaced steps, as many as fit into MAX_BYTES.

    None for a model with too few stored steps.
    """
    model, steps = attention.model, list(attention.model.steps)
    if len(steps) < _MIN_SNAPSHOTS:
        return None
    replica, causal = model.seeds.index(attention.seed), is_causal(attention.weights)
    most = max(2, MAX_BYTES // pack_weights(attention.weights, causal).nbytes)
    if len(steps) > most:
        steps = [steps[round(i)] for i in np.linspace(0, len(steps) - 1, most)]
    weights = [pack_weights(attend(model.module(replica, step), given.ids).weights, causal) for step in steps]
    return {
        "steps": steps,
        "curve": model.held_out_losses(replica),
        "unit": "nats",
        "address": json_address({"address": arrays_address({"weights": np.stack(weights)})}),
    }


def _answers(
    model: Model, found: TextAttention, asked: int, original: AttentionResult, ablated: AttentionResult
) -> dict[str, object]:
    """Return the most probable answers at the query token `asked`, without and with the intervention."""
    every_token = found.model.layout.answers_every_token
    row = asked if every_token else 0
    now, before = (np.exp(each.log_probabilities[row]) for each in (ablated, original))
    shown = np.argsort(-np.maximum(now, before), kind="stable")[:_MAX_ANSWERS]
    names = {int(i): model.outcome_text(int(i), found.ids) for i in shown}
    end = model.separator.join(found.queries[: row + 1])[-24:].replace("\n", "↵")
    where = f"in place of “{found.queries[row].strip()}”" if model.predicts_in_place else f"after “{end}”"
    return {
        "where": where if every_token else "read at the first token",
        "rows": [
            {"text": names[int(i)], "now": round(float(now[i]), 6), "before": round(float(before[i]), 6)} for i in shown
        ],
        "changed": ablated is not original,
    }
