"""Train/test leakage: the held-out loss of the same n-gram under a split without leakage and under one with leakage."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from explorer.errors import CorpusMissing, LineageError, NeedsText, TextError
from explorer.inspection.language.tokenizer_losses import fit_and_evaluate
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text import rows as text_rows
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig

ORDER: Final = 6


@dataclass(frozen=True)
class LeakageGap:
    """The held-out losses under the two splits of one kind of rows, or why there are none."""

    rows: str
    clean_bits: float = math.nan  # bits per character of the held-out part, without leakage
    leaky_bits: float = math.nan
    seconds: float = 0.0  # of fitting both n-grams
    problem: str = ""  # why there is no result; without advice, because rows and context are fixed here


MANY_WORDS: Final = 20_000  # words of a tokenizer that may have learned nearly every word of a text


@dataclass(frozen=True)
class UnknownWords:
    """Shares of the words of held-out lines that a tokenizer does not know, by the lines that it learned from."""

    from_all_lines: float
    from_training_lines: float


def measure_unknown_words(config: TextConfig) -> UnknownWords | None:
    """Measure unknown words with whole lines held out; None for too few lines. Raises LineageError without the text."""
    lines = replace(config, rows="sentences", split="sentences", tokenizer="word", vocabulary=MANY_WORDS)
    try:
        return UnknownWords(
            text_rows.text_data(replace(lines, tokenizer_from_training=False)).unknown_rate,
            text_rows.text_data(replace(lines, tokenizer_from_training=True)).unknown_rate,
        )
    except (NeedsText, CorpusMissing):
        raise
    except TextError:
        return None


def leak_sentence(configs: Iterable[RunConfig]) -> str:
    """Return how the held-out text of the first run with a split that leaks is trained as well; empty without one."""
    tasks = [run.task for run in configs if isinstance(run.task, TextConfig)]
    leaking = next((task for task in tasks if task.split in ("windows", "pairs")), None)
    if leaking is None:
        return ""
    read = "parts of its lines"
    with suppress(LineageError):  # without the text
        if leaking.split == "windows" and isinstance(data := text_rows.text_data(leaking), text_rows.Windows):
            read = f"{data.overlap:.0%} of it"
    return f"Of held-out text with split = {leaking.split}, training reads {read}: a low loss shows memory of it."


def measure_split_leakage(config: TextConfig) -> tuple[LeakageGap, ...]:
    """Measure the leakage of blocks and of sentences; a text that cannot be split so gives a `problem`."""
    return (
        _measure_gap(replace(config, rows="blocks", split="end"), replace(config, rows="blocks", split="windows")),
        _measure_gap(
            replace(config, rows="sentences", split="sentences"), replace(config, rows="sentences", split="pairs")
        ),
    )


def _measure_gap(clean: TextConfig, leaky: TextConfig) -> LeakageGap:
    try:
        honest, leaked = (fit_and_evaluate(each, NgramTextConfig(n=ORDER)) for each in (clean, leaky))
    except (NeedsText, CorpusMissing):
        raise
    except TextError as error:
        return LeakageGap(clean.rows, problem=error.reason)
    return LeakageGap(clean.rows, honest.bits_per_character, leaked.bits_per_character, honest.seconds + leaked.seconds)
