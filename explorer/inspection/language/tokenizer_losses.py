"""The held-out loss of an n-gram that is fitted to a text on the spot, in every unit in which losses are printed."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from explorer.lazy_libraries import torch
from explorer.models import kneser_ney
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text import bits_per_byte, rows
from explorer.tasks.text.config import TextConfig
from explorer.training import scoring


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
    data = rows.text_data(config)
    model = kneser_ney.Ngram(settings, data.vocabulary, config.context, torch.Generator())
    everything = data.full_training_batch()
    started = time.perf_counter()
    model.fit(*everything)
    seconds = time.perf_counter() - started
    loss = float(scoring.mean_loss(model, data.held_out_batches()))
    return NgramLoss(loss, data.characters_per_token, data.vocabulary, data.unknown_rate, seconds)


@dataclass(frozen=True)
class TokenizerLoss:
    """The loss of an n-gram over the tokens of one tokenizer, and what these stand for."""

    ngram: NgramLoss
    held_out: bits_per_byte.HeldOutText

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of the text as it is, the only figure that can be compared between tokenizers."""
        return self.held_out.bits_per_byte(self.ngram.loss)

    @property
    def predicted_bits_per_byte(self) -> float:
        """Bits per byte without what no token represents: the spelling of unknown words, and dropped spaces."""
        return self.bits_per_byte - self.held_out.omitted_bits


def measure_tokenizer_loss(config: TextConfig, settings: NgramTextConfig) -> TokenizerLoss:
    """Fit an n-gram to a text and count what its held-out tokens stand for. Raises LineageError without the text."""
    return TokenizerLoss(fit_and_evaluate(config, settings), bits_per_byte.held_out_text(config))
