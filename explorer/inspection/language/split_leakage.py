"""Train/test leakage: the held-out loss of the same n-gram under a split without leakage and under one with leakage."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Final

from explorer.errors import CorpusMissing, NeedsText, TextError
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig

ORDER: Final = 6


@dataclass(frozen=True)
class LeakageGap:
    """The held-out losses under the two splits of one kind of rows, or why there are none."""

    rows: str
    clean_bits: float = math.nan  # bits per character of the held-out part, without leakage
    leaky_bits: float = math.nan
    seconds: float = 0.0  # of fitting both n-grams
    problem: str = ""  # why there is no result; without advice, because rows and context are fixed here


def measure_split_leakage(config: TextConfig) -> tuple[LeakageGap, ...]:
    """Measure the leakage of blocks and of sentences for the text, tokens and context of a configuration.

    Raises NeedsText and CorpusMissing; a text that cannot be split so gives a `problem`.
    """
    return (
        _measure_gap(replace(config, rows="blocks", split="end"), replace(config, rows="blocks", split="windows")),
        _measure_gap(
            replace(config, rows="sentences", split="sentences"), replace(config, rows="sentences", split="pairs")
        ),
    )


def _measure_gap(clean: TextConfig, leaky: TextConfig) -> LeakageGap:
    try:
        (honest_bits, clean_seconds), (leaky_bits, leaky_seconds) = (
            _bits_per_character(clean),
            _bits_per_character(leaky),
        )
    except (NeedsText, CorpusMissing):
        raise
    except TextError as error:
        return LeakageGap(clean.rows, problem=error.reason)
    return LeakageGap(clean.rows, honest_bits, leaky_bits, clean_seconds + leaky_seconds)


def _bits_per_character(config: TextConfig) -> tuple[float, float]:
    """Return the held-out loss in bits per character, as in a run of the n-gram, and the seconds of fitting."""
    from torch import Generator  # here: a page that only shows the results must not wait for torch

    from explorer.models.kneser_ney import Ngram
    from explorer.tasks.text.rows import text_data
    from explorer.training.scoring import mean_loss

    data = text_data(config)
    model = Ngram(NgramTextConfig(n=ORDER), data.vocabulary, config.context, Generator())
    everything = data.full_training_batch()
    started = time.perf_counter()
    model.fit(*everything)
    seconds = time.perf_counter() - started
    return float(mean_loss(model, data.held_out_batches())) / data.characters_per_token / math.log(2), seconds
