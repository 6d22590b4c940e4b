"""The base class of tokenizers that use the `tokenizers` library: a text is split into words, words into tokens.

They are thread-safe, because the library's object is never changed after construction. Only its batch functions
release the GIL and use all cores, so `encode` and `decode` of a single text are not used. TOKENIZERS_PARALLELISM need
not be set: after a fork, the child process uses one core.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
import pydantic
import tokenizers
from numpy import ndarray
from tokenizers import trainers

from explorer.array_types import Int, Int32, Integer
from explorer.errors import InvalidSetting, TextError
from explorer.tokenization.characters import check_ids, code_points

MAX_TOKEN_LENGTH = 64  # characters (or bytes) of a token; otherwise a text of one letter would have tokens of megabytes
_PIECE_LENGTH = 1_000  # characters that are encoded at once; the time is quadratic in the length of a word
_WORD_ENDS = re.compile(r"(?<=\S)[ \n]")  # every pre-tokenizer used here splits before it


class Pipeline(ABC):
    """A tokenizer with a vocabulary, possibly merges, and the library's object that applies them."""

    kind: ClassVar[str]
    special_tokens: ClassVar[tuple[str, ...]] = ()  # the first tokens; they never match a text
    min_vocabulary: ClassVar[int]  # the smallest size that can be requested
    unknown: ClassVar[int | None] = None
    padding: ClassVar[int | None] = None

    def __init__(self, ids: Mapping[str, int], merges: Sequence[tuple[str, str]] = ()):
        """Build it from the library's tokens; special ones are unknown to it, or it would match "<pad>" in texts."""
        self._ids = dict(ids)
        self._library = self._build_library(ids, merges)
        self.tokens = tuple(self._readable_token(token) for token in sorted(ids, key=ids.__getitem__))
        self.merge_ids = tuple((ids[left], ids[right], ids[left + right]) for left, right in merges)
        self.merges = tuple((self.tokens[left], self.tokens[right]) for left, right, _ in self.merge_ids)

    @classmethod
    def train(cls, texts: Sequence[str], vocabulary: int) -> Pipeline:
        """Learn at most `vocabulary` tokens. Raises InvalidSetting if `vocabulary` is too small, or TextError."""
        if vocabulary < cls.min_vocabulary:
            raise InvalidSetting(
                f"A vocabulary of {vocabulary:,} tokens is too small for the tokenizer “{cls.kind}”. "
                f"Give at least {cls.min_vocabulary:,}."
            )
        check_characters(texts)
        size = min(vocabulary, cls.min_vocabulary + sum(map(len, texts)))  # the library reserves memory for so many
        library = cls._build_library({}, ())
        library.train_from_iterator(
            (piece for text in texts for piece in split_at_word_ends(text)), cls._trainer(texts, size)
        )
        model = json.loads(library.to_str())["model"]
        if len(model["vocab"]) == len(cls.special_tokens):
            raise TextError("There is no word in this text, only spaces or nothing.", "Give one with words in it.")
        return cls(model["vocab"], [(left, right) for left, right in model.get("merges", [])])

    @classmethod
    @abstractmethod
    def _build_library(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        """Return the library's object with its pre-tokenizer, model and decoder."""

    @classmethod
    @abstractmethod
    def _trainer(cls, texts: Sequence[str], vocabulary: int) -> trainers.Trainer:
        """Return the trainer of the vocabulary. It must be deterministic."""

    def encode(self, text: str) -> Int32[ndarray, " tokens"]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Int32[ndarray, " _"]]:
        check_characters(texts)
        split = [list(split_at_word_ends(text)) for text in texts]
        encodings = iter(self._library.encode_batch_fast([piece for text_pieces in split for piece in text_pieces]))
        return [np.array([id for _ in text_pieces for id in next(encodings).ids], np.int32) for text_pieces in split]

    def decode(self, ids: Sequence[int] | Integer[ndarray, " tokens"]) -> str:
        given = check_ids(ids, len(self.tokens))
        return self._join(given[given != self.padding] if self.padding is not None else given)

    def _join(self, ids: Int[ndarray, " tokens"]) -> str:
        return self._library.decode_batch([ids.tolist()])[0]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        check_characters([text])
        split = list(split_at_word_ends(text))
        spans: list[tuple[int, int, int]] = []
        position = 0
        for piece, encoding in zip(split, self._library.encode_batch(split), strict=True):
            offsets = encoding.offsets
            spans += [
                (id, position + start, position + end) for id, (start, end) in zip(encoding.ids, offsets, strict=True)
            ]
            position += len(piece)
        return spans

    def find_unknown(self, text: str) -> list[str]:
        if self.unknown is None:
            return []
        return list(dict.fromkeys(text[start:end] for id, start, end in self.spans(text) if id == self.unknown))

    def to_json(self) -> str:
        """Return the kind and the library's own file as JSON."""
        return json.dumps({"kind": self.kind, "tokenizer": json.loads(self._library.to_str())})

    @classmethod
    def from_json(cls, text: str) -> Pipeline:
        """Return the tokenizer from JSON. Raises ValueError if it is damaged: the library could panic."""
        model = _File.model_validate_json(text).tokenizer.model
        if sorted(model.vocab.values()) != list(range(len(model.vocab))):
            raise ValueError("its ids are not counted from 0 on")
        if any(model.vocab.get(token) != id for id, token in enumerate(cls.special_tokens)):
            raise ValueError(f"it does not begin with {' and '.join(cls.special_tokens)}")
        if not model.vocab.keys() >= {token for a, b in model.merges for token in (a, b, a + b)}:
            raise ValueError("it merges tokens that it does not have")
        cls._check(model.vocab)
        return cls(model.vocab, model.merges)

    @classmethod
    def _check(cls, ids: Mapping[str, int]) -> None:
        """Check the tokens of a file. Raises ValueError."""
        if len(ids) == len(cls.special_tokens):
            raise ValueError("it has no tokens")

    @staticmethod
    def _readable_token(token: str) -> str:
        """Return a token of the library as readable text."""
        return token


class _Model(pydantic.BaseModel):
    vocab: dict[str, Annotated[int, pydantic.Field(strict=True)]]
    merges: list[tuple[str, str]] = []


class _Library(pydantic.BaseModel):
    model: _Model


class _File(pydantic.BaseModel):
    tokenizer: _Library


def check_characters(texts: Sequence[str]) -> None:
    """Raise TextError if a text has a lone surrogate, which the library does not accept."""
    code_points("".join(texts))


def split_at_word_ends(text: str) -> Iterator[str]:
    """Yield pieces to encode in parallel, split at word ends (or anywhere in a very long word)."""
    start = 0
    while start + 2 * _PIECE_LENGTH < len(text):
        end = _WORD_ENDS.search(text, start + _PIECE_LENGTH, start + 2 * _PIECE_LENGTH)
        cut = end.start() if end else start + 2 * _PIECE_LENGTH
        yield text[start:cut]
        start = cut
    yield text[start:]
