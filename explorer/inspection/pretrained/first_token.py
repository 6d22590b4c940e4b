"""How much attention every head gives to the first token of a sentence, an “attention sink” (Xiao et al. 2023).

Its value vector is short: Kobayashi et al. 2020 and Bondarenko et al. 2023 in BERT, Gu et al. 2024 in language models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from explorer.inspection.attention.attend import forward_with_taps, layer_values
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.pretrained.intervals import Estimate, estimate

MOST = 0.5  # share of the attention from which on a head rests on the first token


@dataclass(frozen=True, eq=False)
class FirstTokenAttention:
    """Shares of attention that go to the first token, from all later ones."""

    shares: Float[ndarray, "texts layers heads"]  # mean over the tokens after the first
    uniform: Float[ndarray, " texts"]  # what uniform attention gives it
    value_norms: Float[ndarray, "texts layers heads"]  # norm of its value vector, divided by the mean of the others

    def is_resting(self) -> Bool[ndarray, "layers heads"]:
        """Return whether each head gives more than half of its attention to the first token, on average."""
        return self.shares.mean(axis=0) > MOST

    def resting_heads(self) -> Estimate:
        """Return how many heads give more than half of their attention to the first token."""
        return estimate(self.shares, lambda shares, axis: float((shares.mean(axis=axis) > MOST).sum()))

    def resting_share_by_text(self) -> Float[ndarray, " texts"]:
        """Return the share of such heads in each single text."""
        return (self.shares > MOST).mean(axis=(1, 2))

    def mean_share(self) -> Estimate:
        """Return the share of attention to the first token, mean over all heads."""
        return estimate(self.shares.mean(axis=(1, 2)))

    def value_norm(self) -> Estimate | None:
        """Return how long the value vector of the first token is in these heads; None without such a head."""
        return estimate(self.value_norm_by_text()) if self.is_resting().any() else None

    def value_norm_by_text(self) -> Float[ndarray, " texts"]:
        """Return that length in each text; NaN without such a head."""
        with np.errstate(invalid="ignore"):
            norms: ndarray = self.value_norms[:, self.is_resting()].sum(axis=1) / self.is_resting().sum()
        return norms


@torch.inference_mode()
def first_token_attention(model: AttentionModel, texts: Sequence[Sequence[int]]) -> FirstTokenAttention:
    """Measure the attention to the first token of each text, given as ids; texts have at least two tokens."""
    shares, uniform, norms = [], [], []
    for ids in texts:
        _, trace = forward_with_taps(model, ids)
        weights, values = layer_values(model, trace, "weights"), layer_values(model, trace, "values").norm(dim=-1)
        visible = model.visible_pairs(trace, ids)[1:]
        shares.append(weights[:, :, 1:, 0].mean(dim=-1).numpy())
        uniform.append(float((visible[:, 0] / visible.sum(dim=-1)).mean()))
        norms.append((values[..., 0] / values[..., 1:].mean(dim=-1)).numpy())
    return FirstTokenAttention(np.stack(shares), np.array(uniform), np.stack(norms))


def replace_first(texts: Sequence[Sequence[int]], pool: Sequence[int]) -> list[tuple[int, ...]]:
    """Return texts with a random token of the pool as their first."""
    drawn = np.random.default_rng(0).choice(np.array(pool), len(texts))
    return [(int(token), *ids[1:]) for token, ids in zip(drawn, texts, strict=True)]
