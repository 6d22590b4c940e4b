"""Direct logit attribution: what each part of a model adds to the logit of a prediction.

If a norm comes before each part of a block, the residual stream at the end is a sum: the embedding, and the output of
every head and every feedforward layer. The final norm divides by a scale and is otherwise linear, so with the scale
held at its value the logit is a sum of one number for each part (Elhage et al. 2021, "A mathematical framework for
Transformer circuits"). What a part adds
by way of later parts counts for these, not for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import forward_with_taps
from explorer.inspection.attention.attention_model import AttentionModel, Ids, attention_model
from explorer.inspection.attention.outcomes import answer_position, check_answers, check_outcomes
from explorer.inspection.load_model import to_array

NOT_A_SUM = (
    "The last state of this model is not the sum of what its parts add, because a norm follows each part, so the logit "
    "cannot be divided among the parts."
)


@dataclass(frozen=True, eq=False)
class LogitAttribution:
    """What each part adds to the logit of an outcome, or to the difference of two logits. The sum is `logit`."""

    position: int  # where the answer is read
    outcome: int
    contrast: int | None  # whose logit is subtracted
    logit: float
    embedding: float  # of the token at the position, with its position vector
    heads: Float64[ndarray, "layers heads"]
    feedforward: Float64[ndarray, " layers"]
    attention_bias: Float64[ndarray, " layers"]  # of the output projection, which no head has for itself
    offset: float  # biases of the final norm and of the output layer

    def parts(self) -> list[tuple[str, float]]:
        """Return the name and the number of each part; biases that the model does not have are left out."""
        parts = [("embedding", self.embedding)]
        for layer, heads in enumerate(self.heads):
            parts += [(f"layer {layer + 1}, head {head + 1}", float(value)) for head, value in enumerate(heads)]
            parts.append((f"layer {layer + 1}, feedforward", float(self.feedforward[layer])))
        bias = float(self.attention_bias.sum()) + self.offset
        return [*parts, ("biases", bias)] if bias else parts


@torch.inference_mode()
def attribute_logit(
    model: nn.Module | AttentionModel,
    ids: Ids,
    position: int | None = None,
    outcome: int | None = None,
    contrast: int | None = None,
) -> LogitAttribution:
    """Divide a logit of a single model among its parts.

    ids: the text
    position: where the answer is read; by default at the last token
    outcome: by default the most probable one
    contrast: an outcome whose logit is subtracted; by default none

    Raises InvalidSetting for a model whose parts do not add up, and for a position or an outcome that does not exist.
    """
    transformer = attention_model(model)
    check_answers(transformer)
    if not transformer.adds_up:
        raise InvalidSetting(NOT_A_SUM)
    at = answer_position(transformer, len(ids), position)
    logits, trace = forward_with_taps(transformer, ids)
    check_outcomes(logits.shape[-1], outcome, contrast)
    outcome = int(logits[at].argmax()) if outcome is None else outcome
    stream = [trace[tap][0, at] for tap in transformer.depth_taps]
    layers = range(transformer.layout.layers)
    heads = torch.stack(
        [
            transformer.head_outputs(layer, trace[transformer.tap(layer, "mixed")][0, :, at : at + 1])[:, 0]
            for layer in layers
        ]
    )
    biases = torch.stack([transformer.attention_bias(layer) for layer in layers])
    steps = torch.stack([after - before for before, after in pairwise(stream)])
    feedforward = steps - heads.sum(dim=1) - biases
    outcomes = [outcome] if contrast is None else [outcome, contrast]

    def attribute(parts: Float[Tensor, "*parts width"]) -> Float64[ndarray, "*parts"]:
        by_outcome = transformer.direct_logits(parts.flatten(0, -2), stream[-1], outcomes)
        return to_array(_difference(by_outcome).view(parts.shape[:-1]))

    return LogitAttribution(
        at,
        outcome,
        contrast,
        float(_difference(logits[at, outcomes])),
        float(attribute(stream[0][None])[0]),
        attribute(heads),
        attribute(feedforward),
        attribute(biases),
        float(_difference(transformer.logit_offset(outcomes))),
    )


def _difference(by_outcome: Float[Tensor, "*parts outcomes"]) -> Float64[Tensor, "*parts"]:
    """Return the values of the outcome, minus those of the contrasting outcome if there is one."""
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64)[: by_outcome.shape[-1]]
    return (by_outcome.double() * signs).sum(dim=-1)
