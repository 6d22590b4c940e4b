"""A translation by a pretrained model with an encoder and a decoder, and its alignment: the cross-attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.attention.attend import forward_with_taps, layer_values
from explorer.inspection.attention.attention_model import AttentionModel, Ids
from explorer.inspection.load_model import to_array

_TINY = 1e-12  # keeps logarithms finite


@dataclass(frozen=True, eq=False)
class PretrainedTranslation:
    """What a model writes for a source, token by token, and where its decoder attends to."""

    source: tuple[str, ...]  # tokens, with those that the model expects around the text
    target: tuple[str, ...]  # tokens, with the end token if it was written
    text: str  # without special tokens
    has_end: bool
    omitted: str  # the part of the source that the model did not read
    weights: Float[ndarray, "layers heads target source"]  # row i: when token i was written

    def mean_weights(self, layer: int | None = None) -> Float[ndarray, "target source"]:
        """Return the mean over all heads of a layer, or of all layers."""
        chosen = self.weights if layer is None else self.weights[layer : layer + 1]
        return chosen.mean(axis=(0, 1))

    def best_head(self, layer: int | None = None) -> tuple[int, int]:
        """Return layer and head with the largest `alignment_information`, of a layer or of all."""
        information = alignment_information(self.weights)
        if layer is None:
            best = int(information.argmax())
            return best // information.shape[1], best % information.shape[1]
        return layer, int(information[layer].argmax())


def alignment_information(weights: Float[ndarray, "*heads target source"]) -> Float[ndarray, "*heads"]:
    """Return how much the attention of a head says about which token is being written, in bits.

    It is the mutual information of the position that is written (each equally often) and the position that is attended
    to: 0 if all rows are equal, also for a head that always attends to the end of the source; at most log2 of the rows.
    """
    mean = weights.mean(axis=-2)

    def entropy(shares: ndarray) -> ndarray:
        return np.asarray(-(shares * np.log2(shares + _TINY)).sum(axis=-1))

    return np.maximum(entropy(mean) - entropy(weights).mean(axis=-1), 0.0)


@torch.inference_mode()
def cross_attention(cross: AttentionModel, source: Ids) -> Float[ndarray, "layers heads target source"]:
    """Return the attention of a decoder to a source, for the target that it was given (`PretrainedModule.part`)."""
    return to_array(layer_values(cross, forward_with_taps(cross, source)[1], "weights"))
