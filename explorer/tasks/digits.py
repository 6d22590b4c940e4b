"""Reverse and copy: random digits are read as a whole, then written in reverse order, or again as they were.

Nothing can be guessed, and nothing can be learned by heart: every digit of the source has to reach its own place in
the target. So the exact match over the length of the source says how much fits through what stands between the half
that reads and the half that writes. Reverse is the test of Sutskever et al. (2014, section 3.3) turned into a task:
the first digit is asked last, and no digit stands in the target where it stood in the source.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.models.settings import setting

VERSION = 1
DIGITS = "0123456789"


@dataclass(frozen=True)
class DigitsConfig:
    """How long the sources are, and of how many different digits."""

    longest: int = setting(20, "Digits in the longest source that is trained; each has 1 to so many.", 1, 40)
    symbols: int = setting(10, "Different digits.", 2, 10)


@dataclass(frozen=True)
class ReverseConfig(DigitsConfig):
    """The target is the source from its end to its beginning."""


@dataclass(frozen=True)
class CopyConfig(DigitsConfig):
    """The target is the source."""


def asked_lengths(config: DigitsConfig) -> tuple[int, ...]:
    """The lengths that are asked about at the end: every one that was trained, and a few beyond."""
    return (*range(1, config.longest + 1), *(config.longest + more for more in (1, 2, 5, 10)))


def target(config: DigitsConfig, source: tuple[int, ...]) -> tuple[int, ...]:
    """The right answer to a source; both are digits."""
    return source[::-1] if isinstance(config, ReverseConfig) else source
