"""Sentences over a small vocabulary of words."""

from __future__ import annotations

import difflib
import string
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from explorer.errors import EmptySentence, SentenceTooLong, UnknownWords, shorten

MAX_WORDS = 40  # in a sentence
_JOINERS = "\u200c\u200d"  # invisible, but part of the spelling of words in Persian and other languages
_PUNCTUATION = string.punctuation + "“”‘’«»…–—¡¿。，" + _JOINERS


@dataclass(frozen=True)
class Words:
    """A vocabulary with a first, a last and a padding token. It is closed unless it has a token for unknown words.

    Ids are indices into `tokens`. `markers` (first, last, padding, unknown) cannot be typed.
    """

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
        return {token: i for i, token in enumerate(self.tokens)}

    def id(self, token: str) -> int:
        """Return the id of a token, or that of the unknown token. Raises KeyError if there is none."""
        return self._ids[self.unknown if self.unknown and token not in self._ids else token]

    def split(self, text: str) -> tuple[str, ...]:
        """Split a text into lower-case words without surrounding punctuation.

        Raises EmptySentence, SentenceTooLong, or UnknownWords, which suggests the nearest known words.
        """
        words = split_words(text)
        if not words:
            raise EmptySentence("There is no word in this sentence.")
        if len(words) > MAX_WORDS:
            raise SentenceTooLong(
                f"This sentence has {len(words):,} words; the models are asked to read at most {MAX_WORDS}. Shorten it."
            )
        unknown = tuple(dict.fromkeys(word for word in words if word not in self._ids or word in self.markers))
        if unknown and not self.unknown:
            nearest = {word: self.nearest(word) for word in unknown}
            shown = _join_words([f"“{shorten(word, 24)}”" for word in unknown[:3]])
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            raise UnknownWords(f"The models never saw {shown}{more}.", nearest)
        return words

    def replace_word(self, text: str, word: str, known: str) -> str:
        """Replace every occurrence of an unknown word by a known one."""
        return " ".join(known if _normalize(piece) == word else piece for piece in text.split())

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


def split_words(text: str) -> tuple[str, ...]:
    """Split a text into lower-case words without surrounding punctuation and without invisible characters."""
    pieces = (_normalize(piece) for piece in unicodedata.normalize("NFKC", drop_invisible(text)).split())
    return tuple(piece for piece in pieces if piece)


def drop_invisible(text: str) -> str:
    """Return a text without characters that cannot be seen, such as zero-width spaces; joiners are kept."""
    if text.isascii():
        return text
    return "".join(each for each in text if each in _JOINERS or unicodedata.category(each) != "Cf")


def _normalize(piece: str) -> str:
    """Return a piece of text in lower case, without surrounding punctuation."""
    return unicodedata.normalize("NFKC", piece).casefold().strip(_PUNCTUATION)


def _join_words(words: tuple[str, ...] | list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
