"""The loss of one n-gram on one text by tokenizer, in every unit in which losses are printed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.inspection.language import bits_per_byte
from explorer.inspection.language.fitted_ngram import NgramLoss, fit_and_evaluate
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig


@dataclass(frozen=True)
class TokenizerLoss:
    """The loss of an n-gram over the tokens of one tokenizer, and what these stand for."""

    ngram: NgramLoss
    held_out: bits_per_byte.HeldOutText

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of the text as it is, the only figure that can be compared between tokenizers."""
        return float(self.held_out.bits_per_byte(np.array(self.ngram.loss)))

    @property
    def predicted_bits_per_byte(self) -> float:
        """Bits per byte without what no token represents: the spelling of unknown words, and dropped spaces."""
        return self.bits_per_byte - self.held_out.omitted_bits


def measure_tokenizer_loss(config: TextConfig, settings: NgramTextConfig) -> TokenizerLoss:
    """Fit an n-gram to a text and count what its held-out tokens stand for.

    Raises TextError, NeedsText or CorpusMissing.
    """
    return TokenizerLoss(fit_and_evaluate(config, settings), bits_per_byte.held_out_text(config))
