"""Format numbers and lists for sentences. All functions are pure, so that tests can check every word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from explorer.errors import shorten
from explorer.number_format import format_interval, format_percent

_SYMBOLS = {" ": "␣", "\n": "↵", "\t": "⇥"}  # of white space
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number_word(count: int) -> str:
    """Return a count up to twelve as a word, a larger one in digits."""
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else f"{count:,}"


def visible_whitespace(token: str) -> str:
    """Return a token with visible symbols for its white space."""
    return token.translate({ord(space): symbol for space, symbol in _SYMBOLS.items()})


def original_whitespace(shown: str) -> str:
    """Return the text that `visible_whitespace` shows in this way."""
    return shown.translate({ord(symbol): space for space, symbol in _SYMBOLS.items()})


def count_seeds(count: int) -> str:
    """Return “eight seeds” or “one seed”."""
    return f"{number_word(count)} seed{'' if count == 1 else 's'}"


def describe_line(seeds: int) -> str:
    """Return what a line of a chart and its band show, for so many seeds."""
    return f"Line: median of {count_seeds(seeds)}. Band: lowest to highest." if seeds > 1 else "Line: one seed."


def format_median(values: Iterable[float], digits: int = 2) -> str:
    """Return the median of the seeds and, in brackets, the lowest and the highest: 0.20 (0.12 to 0.34)."""
    given = list(map(float, values))
    return format_interval(median(given), min(given), max(given), digits)


def capitalize(words: str) -> str:
    """Return the words with a capital first letter."""
    return words[:1].upper() + words[1:]


def join_words(names: Sequence[str]) -> str:
    """Join words as “a, b and c”."""
    return "".join(names) if len(names) < 2 else ", ".join(names[:-1]) + " and " + names[-1]


def quote_first(names: Sequence[str], most: int = 4) -> str:
    """Return the first few names in quotation marks, joined for a sentence."""
    quoted = [f"“{shorten(name, 12)}”" for name in names[:most]]
    return join_words([*quoted, "others"] if len(names) > most else quoted)


def percentage(share: float) -> str:
    """Return a share in percent with one digit, "none" for 0."""
    return "none" if share == 0 else format_percent(share)
