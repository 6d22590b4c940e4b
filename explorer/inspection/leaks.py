"""How much a leaky split flatters: the same n-gram, counted and asked under an honest split and under a leaky one."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Final

from explorer.errors import CorpusMissing, NeedsText, TextError
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text import TextConfig

ORDER: Final = 6


@dataclass(frozen=True)
class Leak:
    """What the same counts score under the two splits of one kind of rows, or why they cannot."""

    rows: str
    honest: float = math.nan  # bits a character of what is held out
    leaky: float = math.nan
    seconds: float = 0.0  # of counting alone, both together
    problem: str = ""  # without advice: rows and context are what is compared, and nobody chooses them


def leaks(config: TextConfig) -> tuple[Leak, ...]:
    """Both pairs of splits, for the text, the tokens and the context of a configuration.

    Raises NeedsText and CorpusMissing; a text that cannot be cut so is a `problem`.
    """
    return (
        _leak(replace(config, rows="blocks", split="end"), replace(config, rows="blocks", split="windows")),
        _leak(replace(config, rows="sentences", split="sentences"), replace(config, rows="sentences", split="pairs")),
    )


def _leak(honest: TextConfig, leaky: TextConfig) -> Leak:
    try:
        (honest_bits, one), (leaky_bits, two) = _bits(honest), _bits(leaky)
    except (NeedsText, CorpusMissing):
        raise
    except TextError as error:
        return Leak(honest.rows, problem=error.reason)
    return Leak(honest.rows, honest_bits, leaky_bits, one + two)


def _bits(config: TextConfig) -> tuple[float, float]:
    """Bits a character of the held-out part, scored as a run of the n-gram is, and seconds of counting."""
    from torch import Generator  # here: a page that only shows the results must not wait for torch

    from explorer.models.ngram import Ngram
    from explorer.tasks.windows import text_data
    from explorer.training.scoring import loss_over

    data = text_data(config)
    model = Ngram(NgramTextConfig(n=ORDER), data.vocabulary, config.context, Generator())
    everything = data.whole_training()
    began = time.perf_counter()
    model.fit(*everything)
    seconds = time.perf_counter() - began
    return float(loss_over(model, data.held_out())) / data.characters_per_token / math.log(2), seconds
