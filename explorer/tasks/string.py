"""The string task: predict each character of one string from the characters before it.

A model that remembers the beginning can be right everywhere. A model that sees only the last character cannot predict
which of several continuations follows; `loss_floor` is its lowest possible loss.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from explorer.errors import InvalidSetting, shorten
from explorer.models.settings import setting

MAX_LENGTH = 200  # characters
_LENGTH_RANGE = f"2 to {MAX_LENGTH} characters are possible"


@dataclass(frozen=True)
class StringConfig:
    """The string; its distinct characters are the vocabulary."""

    text: str = setting(
        "abca abca abca ", f"The string to learn: 2 to {MAX_LENGTH} characters on one line.", label="String to learn"
    )

    def __post_init__(self) -> None:
        validated_string(self.text)

    @property
    def vocabulary(self) -> str:
        """The distinct characters in the order of their code points."""
        return "".join(sorted(set(self.text)))

    @property
    def ids(self) -> list[int]:
        """The index of each character in the vocabulary."""
        index = {char: i for i, char in enumerate(self.vocabulary)}
        return [index[char] for char in self.text]

    @property
    def transitions(self) -> int:
        """The number of predictions: pairs of neighbouring characters."""
        return len(self.text) - 1


def validated_string(text: str) -> str:
    """Return the same string if it can be learned. Raises InvalidSetting otherwise."""
    if not text:
        raise InvalidSetting(f"The string is empty: there is nothing to learn. Give some: {_LENGTH_RANGE}.")
    if len(text) == 1:
        raise InvalidSetting(f"“{text}” is a single character: nothing follows it. Give more: {_LENGTH_RANGE}.")
    if len(text) > MAX_LENGTH:
        raise InvalidSetting(f"This string has {len(text):,} characters; {_LENGTH_RANGE}. Shorten it.")
    control_character = next((char for char in text if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")), None)
    if control_character is not None:
        raise InvalidSetting(
            f"The string “{shorten(text, 20)}” contains U+{ord(control_character):04X}, a line break or control "
            "character. Remove it."
        )
    return text


@dataclass(frozen=True)
class Context:
    """A character of a string and the characters that follow it there."""

    character: str
    continuations: tuple[tuple[str, int], ...]  # (character, count), most frequent first

    @property
    def count(self) -> int:
        """The number of occurrences with a following character."""
        return sum(count for _, count in self.continuations)

    @property
    def entropy(self) -> float:
        """H(next | this character) = -sum p log p, in nats."""
        shares = [count / self.count for _, count in self.continuations]
        return math.fsum(share * math.log(1 / share) for share in shares)


def contexts(text: str) -> tuple[Context, ...]:
    """Return every character that has a continuation, in the order of the string."""
    follow: dict[str, Counter[str]] = {}
    for char, after in pairwise(text):
        follow.setdefault(char, Counter())[after] += 1
    return tuple(Context(char, tuple(counts.most_common())) for char, counts in follow.items())


def ambiguous_contexts(text: str) -> tuple[Context, ...]:
    """Return the characters with several continuations, those that cost the most loss first."""
    several = (context for context in contexts(text) if len(context.continuations) > 1)
    return tuple(sorted(several, key=lambda c: -c.count * c.entropy))


def loss_floor(text: str) -> float:
    """Return the lowest possible loss of a model that sees one character, in nats per transition.

    This is the conditional entropy of neighbouring characters (Shannon 1948, section 6): the sum over characters c of
    n(c) / N * H(next | c). It is 0 exactly if every character has one continuation.
    """
    return math.fsum(context.count * context.entropy for context in contexts(text)) / max(1, len(text) - 1)


@dataclass(frozen=True)
class GeneratedError:
    """A generated character that contradicts the string."""

    position: int  # in the generated text
    context: str  # the longest piece of the string before it
    expected: str  # the characters that follow this piece in the string
    pair_in_string: bool  # whether the string contains the previous character followed by this one


def find_errors(text: str, generated: str) -> list[GeneratedError]:
    """Return where a generated text, started with the first character of the string, departs from the string.

    The context of a generated character is the longest suffix of the text before it that occurs in the string with a
    continuation; the start of the string counts as part of it. The character is correct if it follows this context
    somewhere in the string. After an error the context is short and grows again, so that an error counts once. The
    string is not circular: what follows its end was never shown, and is judged by shorter contexts, if there are any.
    """
    pairs, previous, errors = set(pairwise(text)), text[0], []
    # For each position with a continuation: how many characters before it equal the end of the generated text.
    lengths = [1] + [0] * (len(text) - 1)  # the start matches, as a character would
    for index, char in enumerate([text[0], *generated]):
        if index:
            longest = max(lengths)
            matches = [i for i, length in enumerate(lengths) if length == longest]
            expected = sorted({text[i] for i in matches})
            if char not in expected:
                piece = text[max(0, matches[0] - longest) : matches[0]]
                errors.append(GeneratedError(index - 1, piece, "".join(expected), (previous, char) in pairs))
        lengths = [0, *(lengths[i] + 1 if text[i] == char else 0 for i in range(len(text) - 1))]
        previous = char
    return errors
