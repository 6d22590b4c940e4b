"""Words of a text: `fold_variants` unites how a word is typed, `split_words` splits a text into words.

`Words` is a small vocabulary, over which sentences are read.
"""

from __future__ import annotations

import difflib
import re
import string
import unicodedata
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from explorer.errors import EmptySentence, SentenceTooLong, UnknownWords, shorten

MAX_WORDS = 40  # in a sentence
# What `fold_variants` replaces, as the content of character classes; NFKC unites full-width forms before.
APOSTROPHES = "‘’‚‛´ʹʻʼʽˈ′՚ꞌ"
QUOTES = "“”„‟″"
HYPHENS = "‐‑"
# Unicode's Default_Ignorable_Code_Point: soft hyphens, joiners, zero-width spaces, variation selectors, …
INVISIBLE = "".join(
    (
        "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164",
        "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff",
    )
)  # in pieces that an export writes as lines
DOTTED_I = "i\u0307"  # the small letter of İ, of which Turkish has no other spelling than “i”
SPLIT_AT_SPACES = "Words are split at spaces: write spaces between the words of Chinese, Japanese or Thai."
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]{5}")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_REPLACED = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(QUOTES, '"') | dict.fromkeys(HYPHENS, "-"))
_PUNCTUATION = string.punctuation + "«»…–—¡¿。，"


@dataclass(frozen=True)
class Words:
    """A vocabulary with `markers` (first, last, padding, perhaps unknown) that cannot be typed; ids index `tokens`."""

    tokens: tuple[str, ...]
    first: str = "<BOS>"
    last: str = "<EOS>"
    padding: str = "<PAD>"
    unknown: str = ""  # the token as which all other words are read

    @property
    def markers(self) -> tuple[str, ...]:
        return (self.first, self.last, self.padding, *([self.unknown] if self.unknown else []))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The tokens without the markers."""
        return tuple(token for token in self.tokens if token not in self.markers)

    @cached_property
    def _ids(self) -> dict[str, int]:
        ids = {token: i for i, token in enumerate(self.tokens)}
        return {fold_variants(token): i for token, i in ids.items()} | ids  # an older run may have curly apostrophes

    def id(self, token: str) -> int:
        """Return the id of a token, or that of the unknown token. Raises KeyError if there is none."""
        return self._ids[self.unknown if self.unknown and token not in self._ids else token]

    def read(self, text: str) -> Reading:
        """Return the words of a text that can be read, at most MAX_WORDS, and those that cannot."""
        found = split_words(text)
        is_known = [word in self._ids and word not in self.markers for word in found]
        words = [self.tokens[self._ids[word]] if known else word for word, known in zip(found, is_known, strict=True)]
        kept = [word for word, known in zip(words, is_known, strict=True) if known or self.unknown]
        unknown = tuple(dict.fromkeys(word for word, known in zip(words, is_known, strict=True) if not known))
        return Reading(tuple(kept[:MAX_WORDS]), unknown, tuple(kept[MAX_WORDS:]))

    def split(self, text: str) -> tuple[str, ...]:
        """Split a text into known lower-case words. Raises EmptySentence, SentenceTooLong, or UnknownWords."""
        words, unknown, left_out, _ = self.read(text)
        if not words and not unknown:
            raise EmptySentence("There is no word in this sentence.")
        if left_out:
            raise SentenceTooLong(
                f"This sentence has {len(words) + len(left_out):,} words; the models are asked to read at most "
                f"{MAX_WORDS}. Shorten it."
            )
        if unknown and not self.unknown:
            nearest = {word: self.nearest(word) for word in unknown[:MAX_WORDS]}
            raise UnknownWords(f"The models never saw {_name_words(unknown)}.", nearest)
        return words

    def replace_word(self, text: str, word: str, known: str) -> str:
        """Replace every occurrence of an unknown word by a known one."""
        return " ".join(known if split_words(piece) == (word,) else piece for piece in text.split())

    def nearest(self, word: str) -> tuple[str, ...]:
        """Return the three known words with the most similar spelling."""
        word = word[:50]  # the comparison takes quadratic time
        return tuple(sorted(self.words, key=lambda known: -difflib.SequenceMatcher(None, word, known).ratio())[:3])

    def similar(self, word: str) -> tuple[str, ...]:
        """Return known words that are spelled similarly, at most two; most unknown words have none."""
        return tuple(difflib.get_close_matches(word[:50], self.words, n=2, cutoff=0.6))

    def encode(self, words: tuple[str, ...]) -> tuple[int, ...]:
        """Return the ids of known words, with the first and the last marker."""
        return tuple(self.id(token) for token in (self.first, *words, self.last))

    def decode(self, ids: tuple[int, ...]) -> tuple[str, ...]:
        """Return the words of ids, without markers."""
        return tuple(token for token in (self.tokens[i] for i in ids) if token not in self.markers)


class Reading(NamedTuple):
    """What a model reads of a text, and what it does not read."""

    tokens: tuple[str, ...]  # with those that are read as the unknown token
    unknown: tuple[str, ...]  # each once; dropped, unless the vocabulary has a token for unknown words
    left_out: tuple[str, ...] = ()  # the tokens beyond the limit
    separator: str = " "

    @property
    def text(self) -> str:
        """The text that is read; empty if nothing is."""
        return self.separator.join(self.tokens)

    def describe_unread(self, example: str = "") -> str:
        """Return a sentence about what is not read, and about the `example` that is read if nothing else can be."""
        parts = [f"The models never saw {_name_words(self.unknown)}."] if self.unknown else []
        if self.left_out:
            count, unit = len(self.tokens) + len(self.left_out), "words" if self.separator else "characters"
            parts.append(f"Only the first {len(self.tokens)} of {count:,} {unit} are read.")
        if not self.tokens:
            parts = [*(parts or ["There is nothing to read."]), *([f"Shown is “{example}”."] if example else [])]
        return " ".join(parts)


def read_characters(text: str, known: Container[str], most: int) -> Reading:
    """Return the known characters of a text, at most `most` of them, and the others."""
    kept = [each for each in text if each in known]
    unknown = dict.fromkeys(each for each in text if each not in known)
    return Reading(tuple(kept[:most]), tuple(unknown), tuple(kept[most:]), "")


def fold_variants(text: str) -> str:
    """Return a text in which typographic variants of a word are equal, such as “isn’t” and “isn't”.

    Unites apostrophes, quotes, hyphens and full-width forms (Unicode's NFKC), and drops characters that cannot be seen,
    such as soft hyphens, joiners and variation selectors.
    """
    if text.isascii():
        return text
    return drop_invisible(unicodedata.normalize("NFKC", text.translate(_REPLACED))).replace(DOTTED_I, "i")


def drop_invisible(text: str) -> str:
    """Return a text without characters that cannot be seen, which also drops joiners."""
    return _INVISIBLE.sub("", text)


def fold_word(text: str) -> str:
    """Return a text with typographic variants folded, in lower case."""
    return fold_variants(fold_variants(text).casefold())


def split_words(text: str) -> tuple[str, ...]:
    """Split a text at white space into lower-case words, with variants folded and without surrounding punctuation."""
    pieces = (piece.strip(_PUNCTUATION) for piece in fold_word(text).split())
    return tuple(piece for piece in pieces if piece)


def lacks_spaces(words: Iterable[str]) -> bool:
    """Return whether most words look like whole sentences of a script without spaces, such as Chinese or Thai."""
    found = [bool(_UNSPACED.search(word)) for word in words]
    return sum(found) > len(found) / 2


def _name_words(words: tuple[str, ...]) -> str:
    """Return the first words in quotation marks, and how many more there are."""
    *before, last = [f"“{shorten(word, 24)}”" for word in words[:3]]
    shown = f"{', '.join(before)} and {last}" if before else last
    return f"{shown} and {len(words) - 3} more" if len(words) > 3 else shown
