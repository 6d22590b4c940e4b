"""The held-out loss of an n-gram that is fitted to a text on the spot, which takes seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig


@dataclass(frozen=True)
class NgramLoss:
    """The loss of an n-gram on a held-out part, as in a run of it."""

    loss: float  # nats per token
    characters_per_token: float
    vocabulary: int  # tokens that the tokenizer has
    unknown_rate: float  # share of held-out targets that are the unknown token
    seconds: float  # of fitting

    @property
    def perplexity(self) -> float:
        """The perplexity per token."""
        return math.exp(self.loss)

    @property
    def bits_per_character(self) -> float:
        """The loss of all targets by the characters of the held-out part, whether or not tokens represent them."""
        return self.loss / self.characters_per_token / math.log(2)


def fit_and_evaluate(config: TextConfig, settings: NgramTextConfig) -> NgramLoss:
    """Fit an n-gram to the training part of a text. Raises TextError, NeedsText or CorpusMissing."""
    from torch import Generator  # here: a page that only shows the results must not wait for torch

    from explorer.models.kneser_ney import Ngram
    from explorer.tasks.text.rows import text_data
    from explorer.training.scoring import mean_loss

    data = text_data(config)
    model = Ngram(settings, data.vocabulary, config.context, Generator())
    everything = data.full_training_batch()
    started = time.perf_counter()
    model.fit(*everything)
    seconds = time.perf_counter() - started
    loss = float(mean_loss(model, data.held_out_batches()))
    return NgramLoss(loss, data.characters_per_token, data.vocabulary, data.unknown_rate, seconds)
