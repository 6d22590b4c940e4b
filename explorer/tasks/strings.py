"""A string and nothing else: each of its characters is to be said from those before it.

Who remembers the beginning can be right everywhere. Who sees one character only has a floor: where the same character
goes on in several ways, nothing tells which one comes. `floor` is that loss, from counting alone.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from explorer.errors import InvalidSetting, shortened
from explorer.models.settings import setting

LONGEST = 200  # characters
POSSIBLE = f"2 to {LONGEST} characters are possible"


@dataclass(frozen=True)
class StringConfig:
    """The string. Its distinct characters are the vocabulary."""

    text: str = setting("abca abca abca ", f"The string to learn: 2 to {LONGEST} characters on one line.")

    def __post_init__(self) -> None:
        check(self.text)

    @property
    def vocabulary(self) -> str:
        """Its distinct characters, in the order of their code points."""
        return "".join(sorted(set(self.text)))

    @property
    def ids(self) -> list[int]:
        """Each of its characters as a place in the vocabulary."""
        place = {char: i for i, char in enumerate(self.vocabulary)}
        return [place[char] for char in self.text]

    @property
    def transitions(self) -> int:
        """How often a character follows another: what there is to predict."""
        return len(self.text) - 1


def check(text: str) -> str:
    """The same string, if it can be learned. Raises InvalidSetting."""
    if not text:
        raise InvalidSetting(f"The string is empty: there is nothing to learn. Give some: {POSSIBLE}.")
    if len(text) == 1:
        raise InvalidSetting(f"“{text}” is a single character: nothing follows it. Give more: {POSSIBLE}.")
    if len(text) > LONGEST:
        raise InvalidSetting(f"This string has {len(text):,} characters; {POSSIBLE}. Shorten it.")
    strange = next((char for char in text if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")), None)
    if strange is not None:
        raise InvalidSetting(
            f"The string “{shortened(text, 20)}” holds U+{ord(strange):04X}, a line break or a sign that controls and "
            "is no text. Leave it out."
        )
    return text


@dataclass(frozen=True)
class Context:
    """A character of a string, and what follows it there."""

    character: str
    follow: tuple[tuple[str, int], ...]  # with how often, the most frequent first

    @property
    def count(self) -> int:
        """How often anything follows it."""
        return sum(count for _, count in self.follow)

    @property
    def entropy(self) -> float:
        """H(next | this character) = -sum p log p, in nats."""
        shares = [count / self.count for _, count in self.follow]
        return math.fsum(share * math.log(1 / share) for share in shares)


def contexts(text: str) -> tuple[Context, ...]:
    """Every character that something follows, in the order of the string."""
    follow: dict[str, Counter[str]] = {}
    for char, after in pairwise(text):
        follow.setdefault(char, Counter())[after] += 1
    return tuple(Context(char, tuple(counts.most_common())) for char, counts in follow.items())


def ambiguous(text: str) -> tuple[Context, ...]:
    """The characters that are followed by different ones, the most expensive first."""
    several = (context for context in contexts(text) if len(context.follow) > 1)
    return tuple(sorted(several, key=lambda c: -c.count * c.entropy))


def floor(text: str) -> float:
    """The lowest loss of whoever sees one character and no more, in nats a transition.

    sum over characters c of n(c) / N * H(next | c): the conditional entropy of the string's pairs (Shannon 1948,
    section 6). 0 exactly where every character has one continuation.
    """
    return math.fsum(context.count * context.entropy for context in contexts(text)) / max(1, len(text) - 1)


@dataclass(frozen=True)
class Slip:
    """A written character that contradicts the string."""

    at: int  # place in what was written
    after: str  # the longest piece of the string that stands before it
    right: str  # the characters that follow that piece in the string
    known: bool  # whether the string has this pair of characters elsewhere


def slips(text: str, written: str) -> list[Slip]:
    """Where a text, begun with the string's first character, leaves the string.

    Before each written character stands some longest piece of the string (the longest end of what came before that
    occurs in the string with something after it; the very beginning counts as a part of it). Only a character that
    follows that piece somewhere in the string is right. After a slip the piece is short and grows again, so that one
    slip counts once. The string is not taken as a circle: what comes after its very end was never shown, and is judged
    by shorter pieces, or not at all where there is none.
    """
    return list(_slips(text, written))


def _slips(text: str, written: str) -> Iterator[Slip]:
    pairs = set(pairwise(text))
    before = text[0]
    # For each place with something after it: how many characters up to it are also the last ones before the pen.
    lengths = [1] + [0] * (len(text) - 1)  # the beginning is common to both, as a character would be
    for at, char in enumerate([text[0], *written]):
        if at:
            longest = max(lengths)
            places = [place for place, length in enumerate(lengths) if length == longest]
            right = sorted({text[place] for place in places})
            if char not in right:
                piece = text[max(0, places[0] - longest) : places[0]]
                yield Slip(at - 1, piece, "".join(right), (before, char) in pairs)
        lengths = [0, *(lengths[i] + 1 if text[i] == char else 0 for i in range(len(text) - 1))]
        before = char
