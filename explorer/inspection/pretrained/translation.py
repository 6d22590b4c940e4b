"""A translation by a pretrained model with an encoder and a decoder, and its alignment: the cross-attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.inspection.load_model import to_array
from explorer.inspection.pretrained.reader import MAX_TRANSLATED, PretrainedReader
from explorer.models.taps import record

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
        mean: Float[ndarray, "target source"] = chosen.mean(axis=(0, 1))
        return mean

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

    information: Float[ndarray, "*heads"] = np.maximum(entropy(mean) - entropy(weights).mean(axis=-1), 0.0)
    return information


@torch.inference_mode()
def translate_and_align(model: PretrainedReader, text: str) -> PretrainedTranslation:
    """Let a model translate a text (greedy decoding) and return the attention of its decoder to the source.

    Raises InvalidSetting for an empty text, and for a model without an encoder and a decoder.
    """
    source = model.tokenize(text)
    if not text.strip():
        raise InvalidSetting("There is no text to translate. Type one.")
    written = model.translate(source.ids)
    part = model.module().part("cross", written[:-1])
    with record(part.module) as trace:
        part.logits(source.ids)
    weights = [trace[part.tap(layer, "weights")][0] for layer in range(part.layout.layers)]
    tokens, special = written[1:], model.tokenizer.special
    end = len(tokens) < MAX_TRANSLATED or tokens[-1] in special
    return PretrainedTranslation(
        source.tokens,
        tuple(model.token_texts(tokens)),
        model.tokenizer.decode([id for id in tokens if id not in special]).strip(),
        end,
        source.truncated,
        to_array(torch.stack(weights)),
    )
