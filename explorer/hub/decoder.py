"""Incremental decoding of a pretrained language model: each new token costs one step, with the keys and values kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from explorer.models.context_window import window_start


class PretrainedDecoder:
    """Reads one text for each sample (a `generation.decoding.Decoder`); the cache is that of `transformers`.

    next_logits: `PretrainedModule.next_logits` of a language model without encoder
    samples: how many texts
    context: the number of tokens that it attends to
    """

    def __init__(self, next_logits: Callable[[Tensor, Any], tuple[Tensor, Any]], samples: int, context: int) -> None:
        self.next_logits, self.samples, self.context = next_logits, samples, context
        self._cache: Any = None
        self._recent_ids: list[Int[Tensor, " samples"]] = []  # the tokens in the window

    @torch.inference_mode()
    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        ids = ids[:, window_start(ids.shape[1], self.context) :]
        self._recent_ids = list(ids.expand(self.samples, -1).unbind(1))
        logits, self._cache = self.next_logits(ids, None)
        if len(ids) == 1 and self.samples > 1:
            self._cache.batch_repeat_interleave(self.samples)
        return logits.expand(self.samples, -1)

    @torch.inference_mode()
    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        if len(self._recent_ids) == self.context:
            remaining = self._recent_ids[window_start(self.context + 1, self.context) :]
            return self.read(torch.stack([*remaining, ids], dim=1))
        self._recent_ids.append(ids)
        logits, self._cache = self.next_logits(ids[:, None], self._cache)
        return logits
