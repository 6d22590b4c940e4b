"""The reverse and copy tasks: the target is the source of random digits in reverse or in the same order.

The digits are drawn at random for each batch: each has to be transferred from the source to its position in the
target. Exact match by source length therefore measures the capacity of the connection between encoder and decoder.
Reverse is derived from the reversed sources of Sutskever et al. (2014, section 3.3): the first digit is generated last.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.models.settings import setting

VERSION = 1
DIGITS = "0123456789"


@dataclass(frozen=True)
class DigitsConfig:
    """The length of the sources and the number of different digits."""

    longest: int = setting(
        20, "Digits in the longest trained source; each has 1 to so many.", 1, 40, label="Longest source, in digits"
    )
    symbols: int = setting(10, "Different digits.", 2, 10, label="Different digits")


@dataclass(frozen=True)
class ReverseConfig(DigitsConfig):
    """The target is the reversed source."""


@dataclass(frozen=True)
class CopyConfig(DigitsConfig):
    """The target is the source."""


def evaluation_lengths(config: DigitsConfig) -> tuple[int, ...]:
    """Return the lengths of the final evaluation: every trained length and a few longer ones."""
    return (*range(1, config.longest + 1), *(config.longest + more for more in (1, 2, 5, 10)))


def target_digits(config: DigitsConfig, source: tuple[int, ...]) -> tuple[int, ...]:
    """Return the correct target of a source; both are digit ids."""
    return source[::-1] if isinstance(config, ReverseConfig) else source
