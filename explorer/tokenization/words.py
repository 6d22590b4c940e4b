"""Words: a sentence as a row of tokens from a small, closed vocabulary."""

from __future__ import annotations

import difflib
import string
import unicodedata
from dataclasses import dataclass

from explorer.errors import EmptySentence, SentenceTooLong, UnknownWords, shortened

LONGEST = 40  # words in a typed sentence; a recurrent net reads them one after the other
_PUNCTUATION = string.punctuation + "“”‘’«»…–—¡¿。，"


@dataclass(frozen=True)
class Words:
    """A closed vocabulary with a first, a last and a padding token.

    Ids are places in `tokens`. `markers` (first, last, padding) are never typed: they are set.
    """

    tokens: tuple[str, ...]
    first: str = "<BOS>"
    last: str = "<EOS>"
    padding: str = "<PAD>"

    @property
    def markers(self) -> tuple[str, str, str]:
        return self.first, self.last, self.padding

    @property
    def words(self) -> tuple[str, ...]:
        """What a visitor may type."""
        return tuple(token for token in self.tokens if token not in self.markers)

    def id(self, token: str) -> int:
        return self.tokens.index(token)

    def split(self, text: str) -> tuple[str, ...]:
        """The words of a text: lower case, without the punctuation around them.

        Raises EmptySentence, SentenceTooLong, or UnknownWords with the nearest known words.
        """
        pieces = (_bare(piece) for piece in unicodedata.normalize("NFKC", text).split())
        words = tuple(piece for piece in pieces if piece)
        if not words:
            raise EmptySentence(f"There is no word in this sentence. The models know {_list(self.words)}.")
        if len(words) > LONGEST:
            raise SentenceTooLong(
                f"This sentence has {len(words):,} words; the models are asked to read at most {LONGEST}. Shorten it."
            )
        unknown = tuple(dict.fromkeys(word for word in words if word not in self.words))
        if unknown:
            nearest = {word: self.nearest(word) for word in unknown}
            shown = _list([f"“{shortened(word, 24)}”" for word in unknown[:3]])
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            raise UnknownWords(f"The models never saw {shown}{more}. Words near it that they know:", nearest)
        return words

    def replaced(self, text: str, word: str, known: str) -> str:
        """The text with every occurrence of an unknown word replaced by a known one."""
        return " ".join(known if _bare(piece) == word else piece for piece in text.split())

    def nearest(self, word: str) -> tuple[str, ...]:
        """The three known words that are spelled most like it."""
        word = word[:50]  # the comparison takes the square of the length
        return tuple(sorted(self.words, key=lambda known: -difflib.SequenceMatcher(None, word, known).ratio())[:3])

    def encode(self, words: tuple[str, ...]) -> tuple[int, ...]:
        """Ids of known words between the first and the last marker."""
        return tuple(self.id(token) for token in (self.first, *words, self.last))

    def decode(self, ids: tuple[int, ...]) -> tuple[str, ...]:
        """The words again, without markers."""
        return tuple(token for token in (self.tokens[i] for i in ids) if token not in self.markers)


def _bare(piece: str) -> str:
    """One piece of text in lower case, without the punctuation around it."""
    return unicodedata.normalize("NFKC", piece).casefold().strip(_PUNCTUATION)


def _list(words: tuple[str, ...] | list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
