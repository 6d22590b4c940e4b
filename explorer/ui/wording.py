"""Format numbers and lists for sentences. All functions are pure, so that tests can check every word."""

from __future__ import annotations

import math
from collections.abc import Sequence

from explorer.errors import shorten

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")  # digits of an exponent
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number_word(count: int) -> str:
    """Return a count up to twelve as a word, a larger one in digits."""
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else f"{count:,}"


def visible_whitespace(token: str) -> str:
    """Return a token with visible symbols for its white space."""
    return token.translate({ord(" "): "␣", ord("\n"): "↵", ord("\t"): "⇥"})


def power_of_ten(value: float) -> str:
    """Return a positive number with one or two significant digits: 0.076, 1.3, 4 × 10⁻¹⁷."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "infinitely many"
    if 0.01 <= value < 1_000:
        return f"{float(f'{value:.2g}'):g}"
    digits, _, exponent = f"{value:.0e}".partition("e")
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return power if digits == "1" else f"{digits}\u00a0×\u00a0{power}"  # non-breaking spaces


def count_seeds(count: int) -> str:
    """Return “eight seeds” or “one seed”."""
    return f"{number_word(count)} seed{'' if count == 1 else 's'}"


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


def both_or_all(count: int) -> str:
    """Return “Both” or “All three”."""
    return "Both" if count == 2 else f"All {number_word(count)}"


def percentage(share: float) -> str:
    """Return a share in percent with one digit: "none" for 0, "< 0.1 %" for anything smaller, "–" for NaN."""
    if math.isnan(share):
        return "–"
    if share == 0:
        return "none"
    return "< 0.1\u00a0%" if share < 0.0005 else f"{100 * share:.1f}\u00a0%"
