"""What carries an answer from one text to another, and what each part of a model adds to a logit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy import ndarray

from explorer import charts
from explorer.api.arguments import require_text, require_whole_number
from explorer.api.attention import Read
from explorer.errors import InvalidSetting, shorten
from explorer.inspection.attention.logit_attribution import LogitAttribution, attribute_logit
from explorer.inspection.attention.outcomes import answer_logits, matching_outcomes
from explorer.inspection.attention.patching import LAYER_PARTS, Patching, patch_states
from explorer.model.model import Model, TextAttention

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from pandas import DataFrame

States = Literal["residual", "heads", "layers"]


@dataclass(frozen=True, eq=False)
class PatchedAnswers:
    """The answer to a changed text with each state of a model taken from the clean text (activation patching).

    clean, changed: the tokens of the two texts.
    answer, contrast: the outcomes whose logits are compared, as texts.
    outcomes: these two and the other most probable outcomes of either text, as texts.
    found: the log-probabilities of the outcomes with each state; see `inspection/attention/patching.py`.
    """

    clean: tuple[str, ...]
    changed: tuple[str, ...]
    outcomes: tuple[str, ...]
    title: str
    found: Patching

    @property
    def answer(self) -> str:
        return self.outcomes[0]

    @property
    def contrast(self) -> str:
        return self.outcomes[1]

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions at which the residual stream is patched: the columns of `residual`."""
        return self.found.positions

    @cached_property
    def residual(self) -> Float64[ndarray, "depths positions"]:
        """The share of the answer that the residual stream at one position restores: after the embedding, each layer.

        0 is the answer to the changed text and 1 that to the clean one, by the difference of the logits of `answer` and
        `contrast`.
        """
        return self.found.share(self.found.residual)

    @cached_property
    def heads(self) -> Float64[ndarray, "layers heads"]:
        """The share that the output of one head restores, at all positions."""
        return self.found.share(self.found.heads)

    @cached_property
    def layers(self) -> Float64[ndarray, "layers 3"]:
        """The share that attention, the feedforward layer, and both restore; NaN where a norm follows each part."""
        return self.found.share(self.found.layers)

    def table(self) -> DataFrame:
        """Return a row for each state: what it is, the share that it restores, and the probability of `answer`.

        The columns are state ("residual", "head", "attention", "feedforward" or "layer"), layer (of the residual stream
        the depth: 0 is the embedding), head, position, token, share and probability; -1 or an empty text where a column
        does not apply.
        """
        rows = []
        for depth, values in enumerate(self.residual):
            for column, (position, share) in enumerate(zip(self.positions, values, strict=True)):
                probability = self.found.residual[depth, column, 0]
                rows.append(("residual", depth, -1, position, self.clean[position], share, probability))
        for layer, values in enumerate(self.heads):
            for head, share in enumerate(values):
                rows.append(("head", layer, head, -1, "", share, self.found.heads[layer, head, 0]))
        for layer, values in enumerate(self.layers):
            for part, (name, share) in enumerate(zip(LAYER_PARTS, values, strict=True)):
                if not np.isnan(share):
                    rows.append((name, layer, -1, -1, "", share, self.found.layers[layer, part, 0]))
        columns = ["state", "layer", "head", "position", "token", "share", "probability"]
        return pd.DataFrame(rows, columns=columns).assign(
            share=lambda table: table.share.astype(float),
            probability=lambda table: np.exp(table.probability.astype(float)),
        )

    def plot(self, states: States = "residual") -> go.Figure:
        """Return a heat map of the shares of the residual stream, the heads, or the parts of layers.

        Raises InvalidSetting for another kind of states.
        """
        if states not in get_args(States):
            raise InvalidSetting(f"There are no states {shorten(states)}. Give one of {', '.join(get_args(States))}.")
        shares: ndarray = getattr(self, states)
        rows = [f"layer {i}" for i in range(len(self.heads))]
        columns = list(LAYER_PARTS)
        if states == "residual":
            rows = ["embedding", *rows]
            pairs = [(self.clean[i], self.changed[i]) for i in self.positions]
            columns = [" / ".join(map(charts.show_whitespace, dict.fromkeys(pair))) for pair in pairs]
        elif states == "heads":
            columns = [str(i) for i in range(shares.shape[1])]
        title = f"{self.title}, {states}: share of “{self.answer}” against “{self.contrast}” that is restored"
        legend = ("−1", "0 changed text", "1 clean text")
        chart = charts.HeatMap(
            title, "share", rows, columns, shares, signed=True, upward=True, columns_on_top=False, legend=legend
        )
        return charts.notebook_figure(chart, title)

    def __repr__(self) -> str:
        layer, head = divmod(int(self.heads.argmax()), self.heads.shape[1])
        return (
            f"PatchedAnswers({self.title}, “{self.answer}” against “{self.contrast}”, {len(self.positions)} positions, "
            f"most restored by layer {layer}, head {head}: {self.heads[layer, head]:.2f})"
        )


@dataclass(frozen=True, eq=False)
class AnswerParts:
    """What each part of a model adds to the logit of an outcome, or to the difference of two (logit attribution).

    outcome, contrast: as texts; contrast is empty for the logit itself.
    found: the values as arrays; see `inspection/attention/logit_attribution.py`.
    """

    tokens: tuple[str, ...]
    outcome: str
    contrast: str
    title: str
    found: LogitAttribution

    @property
    def logit(self) -> float:
        """The logit or the difference: the sum of what all parts add."""
        return self.found.logit

    def table(self) -> DataFrame:
        """Return a row for each part, the largest first: part (by name, layers and heads from 0), and what it adds."""
        found = self.found
        parts = [("embedding", found.embedding)]
        for layer, heads in enumerate(found.heads):
            parts += [(f"layer {layer}, head {head}", float(value)) for head, value in enumerate(heads)]
            parts.append((f"layer {layer}, feedforward", float(found.feedforward[layer])))
        parts.append(("biases", float(found.attention_bias.sum()) + found.offset))
        table = pd.DataFrame(parts, columns=["part", "added"])
        return table.sort_values("added", ascending=False, kind="stable", ignore_index=True)

    def plot(self, most: int = 15) -> go.Figure:
        """Return bars of the parts that add or subtract most, and of all others together.

        most: the number of parts with bars of their own. Raises InvalidSetting unless it is at least 1.
        """
        table = self.table()
        order = table.added.abs().sort_values(ascending=False, kind="stable").index
        most = require_whole_number("most", most, 1)
        shown, others = table.loc[order[:most]], table.loc[order[most:]]
        names, values = shown.part.tolist(), shown.added.tolist()
        if len(others):
            names, values = [*names, f"{len(others)} other parts"], [*values, float(others.added.sum())]
        against = f" − logit of “{self.contrast}”" if self.contrast else ""
        title = f"{self.title}: logit of “{self.outcome}”{against} = {self.logit:.2f}"
        bars = charts.Bars("added", np.array(values), "--sign-5", below="--sign-1")
        return charts.notebook_figure(charts.BarChart(title, names, [bars], charts.Axis("added to the logit")), title)

    def __repr__(self) -> str:
        against = f" against “{self.contrast}”" if self.contrast else ""
        return f"AnswerParts({self.title}, “{self.outcome}”{against}, logit {self.logit:.3f})"


def patch(
    model: Model, first: Read, other: Read, position: int | None, answer: str | None, contrast: str | None
) -> PatchedAnswers:
    """Patch every state of a model that has read two texts; see `InspectedModel.patching`. Raises LineageError."""
    (clean, found), (changed, _) = first, other
    at = _check_position(model, found, position)
    outcomes = _find_outcomes(model, found, at, answer, contrast)
    patched = patch_states(found.model, clean.ids, changed.ids, at, *outcomes)
    names = tuple(model.outcome_text(outcome, clean.ids[: at + 1]) for outcome in patched.outcomes)
    return PatchedAnswers(clean.tokens, changed.tokens, names, model.title, patched)


def attribute(model: Model, read: Read, position: int | None, outcome: str | None, contrast: str | None) -> AnswerParts:
    """Divide a logit among the parts of a model; see `InspectedModel.logit_attribution`. Raises LineageError."""
    given, found = read
    at = _check_position(model, found, position)
    parts = attribute_logit(found.model, given.ids, at, *_find_outcomes(model, found, at, outcome, contrast))
    chosen = (parts.outcome, parts.contrast)
    names = ["" if each is None else model.outcome_text(each, given.ids[: at + 1]) for each in chosen]
    return AnswerParts(given.tokens, names[0], names[1], model.title, parts)


def _check_position(model: Model, found: TextAttention, position: int | None) -> int:
    if position is None:
        return model.default_query(found.queries)
    return require_whole_number("position", position, 0, len(found.queries) - 1)


def _find_outcomes(model: Model, found: TextAttention, position: int, *texts: str | None) -> list[int | None]:
    if all(text is None for text in texts):
        return [None for _ in texts]
    order = answer_logits(found.model, found.ids, position).argsort(descending=True).tolist()
    names = [model.outcome_text(outcome, found.ids[: position + 1]) for outcome in order]
    return [None if text is None else order[_find_name(names, text)] for text in texts]


def _find_name(names: Sequence[str], text: str) -> int:
    """Return the index of the first name that is this text, apart from spaces around it. Raises InvalidSetting."""
    wanted = require_text(text, "An outcome")
    if found := matching_outcomes(names, wanted):
        return found[0]
    likely = ", ".join(f"“{name}”" for name in names[:5])
    raise InvalidSetting(f"The model has no outcome “{shorten(wanted)}”. The most probable ones here are {likely}.")
