"""English sentences as words and pieces of words.

A text is read without punctuation and in small letters, and contractions are written out ("isn't": "is not"), so that
all spellings of a sentence are one. A word that is not in the vocabulary is divided into the longest known pieces
(WordPiece: Schuster and Nakajima 2012); a piece that continues a word begins with "##".
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from explorer.errors import EmptySentence
from explorer.tokenization.words import Reading, Words, fold_word

MAX_PIECES = 60  # of a text
CONTINUES = "##"  # the beginning of a piece that continues a word
_ENCODED_AT_ONCE = 1_000  # the library keeps kilobytes for each sentence
_UNKNOWN = "<UNK>"  # the library's mark of a word with an unknown character; it is not in the vocabulary
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|'[^\W_]+|[^\w\s]")
_ENDINGS = {"n't": " not", "'re": " are", "'ve": " have", "'ll": " will", "'m": " am", "'d": " would", "'s": " 's"}
_IRREGULAR = {
    "can't": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "ain't": "is not",
    "let's": "let us",
    **{f"{word}'s": f"{word} is" for word in ("it", "that", "he", "she", "what", "there", "here", "who", "where")},
}
_WITH_NOT = (
    *("is", "are", "was", "were", "do", "does", "did", "have", "has", "had", "would", "could", "should"),
    *("must", "need"),
)
# Contractions that are often typed without their apostrophe, where this is no other word.
_BARE = {f"{word}nt": f"{word} not" for word in _WITH_NOT} | {"cant": "can not", "wont": "will not", "im": "i am"}


def split_english(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters, with contractions written out, and its symbols, such as emoji."""
    words: list[str] = []
    for token in _TOKEN.findall(fold_word(text).replace("''", '"').replace("`", "'")):
        if len(token) > 1 or token.isalnum():
            words += _write_out(token).split()
        elif token not in string.punctuation and not unicodedata.category(token).startswith("P"):
            words.append(token)
    return tuple(words)


def _write_out(word: str) -> str:
    if whole := _IRREGULAR.get(word) or _BARE.get(word):
        return whole
    ending = next((ending for ending in _ENDINGS if word.endswith(ending)), "")
    return word.removesuffix(ending) + _ENDINGS[ending] if ending else word


@dataclass(frozen=True)
class Pieces(Words):
    """A vocabulary of English words and pieces of words. No text is refused: what cannot be read is left out."""

    @cached_property
    def _library(self) -> tokenizers.Tokenizer:
        return _library({piece: self.id(piece) for piece in self.words} | {_UNKNOWN: len(self.tokens)})

    def read(self, text: str) -> Reading:
        """Return the pieces of a text that are read, at most MAX_PIECES, and the words that cannot be read."""
        kept: list[str] = []
        unknown: dict[str, None] = {}
        for word in split_english(text):
            found = self._library.encode(word).tokens
            if _UNKNOWN in found:
                unknown[word] = None
            else:
                kept += found
        return Reading(tuple(kept[:MAX_PIECES]), tuple(unknown), tuple(kept[MAX_PIECES:]))

    def split(self, text: str) -> tuple[str, ...]:
        """Return the pieces of a text that are read. Raises EmptySentence."""
        tokens = self.read(text).tokens
        if not tokens:
            raise EmptySentence("There is no English word in this sentence.")
        return tokens

    def encode_all(self, sentences: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
        """Return the ids of many sentences, given as words: what `read` keeps of them, between their markers."""
        unknown, first, last = len(self.tokens), self.id(self.first), self.id(self.last)
        found = []
        for start in range(0, len(sentences), _ENCODED_AT_ONCE):
            texts = [" ".join(words) for words in sentences[start : start + _ENCODED_AT_ONCE]]
            for each in self._library.encode_batch(texts):
                found.append((first, *[id for id in each.ids if id != unknown][:MAX_PIECES], last))
        return found


def _library(ids: dict[str, int]) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(models.WordPiece(ids, unk_token=_UNKNOWN, max_input_chars_per_word=60))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return library


def train_pieces(texts: Iterable[str], size: int) -> Pieces:
    """Return a vocabulary of at most `size` pieces of which texts (words separated by spaces) consist most often."""
    known = list(texts)
    characters = Counter(character for text in known for character in text if not character.isspace())
    # Chosen here, because the library drops equally rare characters at random.
    alphabet = sorted((each for each in characters if characters[each] > 1), key=lambda each: (-characters[each], each))
    # Numbered here, because the library numbers them at random, and the number decides between equally frequent pairs.
    continuing = sorted({f"##{character}" for text in known for word in text.split() for character in word[1:]})
    single = [each for each in continuing if each[2:] in alphabet]
    library = _library({_UNKNOWN: 0})
    library.train_from_iterator(
        known,
        trainers.WordPieceTrainer(
            vocab_size=size - 2,
            special_tokens=[_UNKNOWN, *alphabet, *single],
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            show_progress=False,
        ),
    )
    ids = library.get_vocab()
    pieces = sorted(ids.keys() - {_UNKNOWN}, key=lambda piece: ids[piece])
    return Pieces(("<BOS>", "<EOS>", *pieces, "<PAD>"))
