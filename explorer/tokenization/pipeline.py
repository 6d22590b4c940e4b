"""What the tokenizers of the `tokenizers` library have in common: a text is split into words, and words into tokens.

Any thread may use them: the library's object is never changed once it is made. Only its calls on a batch let other
threads of the program go on meanwhile, and use all cores; its `encode` of one text and its `decode` stop the whole
program, and are not used. TOKENIZERS_PARALLELISM need not be set: after a fork, the child uses one core by itself.
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
from jaxtyping import Int, Int32, Integer
from numpy import ndarray
from tokenizers import trainers

from explorer.errors import InvalidSetting, TextError
from explorer.tokenization.characters import checked, code_points

LONGEST = 64  # characters (or bytes) of a token: a text of one letter would have tokens of megabytes
_PIECE = 1_000  # characters that are encoded at once; words of millions of letters take the square of that in time
_WORD_ENDS = re.compile(r"(?<=\S)[ \n]")  # all pre-tokenizers here split before it, whatever stands around


class Pipeline(ABC):
    """A vocabulary, perhaps merges, and the library's object that finds them in a text."""

    kind: ClassVar[str]
    special: ClassVar[tuple[str, ...]] = ()  # the first tokens; they are never found in a text
    fewest: ClassVar[int]  # tokens that can be wished for
    unknown: ClassVar[int | None] = None
    padding: ClassVar[int | None] = None

    def __init__(self, ids: Mapping[str, int], merges: Sequence[tuple[str, str]] = ()):
        """From tokens as the library writes them; `merges` in the order they were learned.

        Special tokens are not announced to the library as such: it would find a typed "<pad>".
        """
        self._ids = dict(ids)
        self._library = self._assembled(ids, merges)
        self.tokens = tuple(self._readable(token) for token in sorted(ids, key=ids.__getitem__))
        self.merge_ids = tuple((ids[left], ids[right], ids[left + right]) for left, right in merges)
        self.merges = tuple((self.tokens[left], self.tokens[right]) for left, right, _ in self.merge_ids)

    @classmethod
    def train(cls, texts: Sequence[str], vocabulary: int) -> Pipeline:
        """At most `vocabulary` tokens, as many as the texts can give. Raises InvalidSetting, TextError."""
        if vocabulary < cls.fewest:
            raise InvalidSetting(
                f"A vocabulary of {vocabulary:,} tokens is too small for the tokenizer “{cls.kind}”. "
                f"Give at least {cls.fewest:,}."
            )
        check_characters(texts)
        most = min(vocabulary, cls.fewest + sum(map(len, texts)))  # the library reserves memory for all it is told
        library = cls._assembled({}, ())
        library.train_from_iterator((piece for text in texts for piece in pieces(text)), cls._trainer(texts, most))
        model = json.loads(library.to_str())["model"]
        if len(model["vocab"]) == len(cls.special):
            raise TextError("There is no word in this text, only spaces or nothing.", "Give one with words in it.")
        return cls(model["vocab"], [(left, right) for left, right in model.get("merges", [])])

    @classmethod
    @abstractmethod
    def _assembled(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        """The library's object: how it splits, finds tokens, and puts them together."""

    @classmethod
    @abstractmethod
    def _trainer(cls, texts: Sequence[str], vocabulary: int) -> trainers.Trainer:
        """How a vocabulary is learned. The same texts must always give the same one."""

    def encode(self, text: str) -> Int32[ndarray, " tokens"]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Int32[ndarray, " _"]]:
        check_characters(texts)
        cut = [list(pieces(text)) for text in texts]
        encodings = iter(self._library.encode_batch_fast([piece for of_text in cut for piece in of_text]))
        return [np.array([id for _ in of_text for id in next(encodings).ids], np.int32) for of_text in cut]

    def decode(self, ids: Sequence[int] | Integer[ndarray, " tokens"]) -> str:
        given = checked(ids, len(self.tokens))
        return self._joined(given[given != self.padding] if self.padding is not None else given)

    def _joined(self, ids: Int[ndarray, " tokens"]) -> str:
        return self._library.decode_batch([ids.tolist()])[0]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        check_characters([text])
        cut = list(pieces(text))
        found: list[tuple[int, int, int]] = []
        place = 0
        for piece, encoding in zip(cut, self._library.encode_batch(cut), strict=True):
            offsets = encoding.offsets
            found += [(id, place + start, place + end) for id, (start, end) in zip(encoding.ids, offsets, strict=True)]
            place += len(piece)
        return found

    def unknown_in(self, text: str) -> list[str]:
        if self.unknown is None:
            return []
        return list(dict.fromkeys(text[start:end] for id, start, end in self.spans(text) if id == self.unknown))

    def to_json(self) -> str:
        """The library's own file, and which kind it is."""
        return json.dumps({"kind": self.kind, "tokenizer": json.loads(self._library.to_str())})

    @classmethod
    def from_json(cls, text: str) -> Pipeline:
        """Only tokens and merges are read; all else follows from the kind. Raises ValueError.

        Every doubt is raised here, because some files make the library itself panic.
        """
        model = _File.model_validate_json(text).tokenizer.model
        if sorted(model.vocab.values()) != list(range(len(model.vocab))):
            raise ValueError("its ids are not counted from 0 on")
        if any(model.vocab.get(token) != id for id, token in enumerate(cls.special)):
            raise ValueError(f"it does not begin with {' and '.join(cls.special)}")
        if not model.vocab.keys() >= {token for a, b in model.merges for token in (a, b, a + b)}:
            raise ValueError("it merges tokens that it does not have")
        cls._check(model.vocab)
        return cls(model.vocab, model.merges)

    @classmethod
    def _check(cls, ids: Mapping[str, int]) -> None:
        """What else must be true of the tokens of a file. Raises ValueError."""
        if len(ids) == len(cls.special):
            raise ValueError("it has no tokens")

    @staticmethod
    def _readable(token: str) -> str:
        """A token of the library as a person reads it."""
        return token


class _Model(pydantic.BaseModel):
    vocab: dict[str, Annotated[int, pydantic.Field(strict=True)]]
    merges: list[tuple[str, str]] = []


class _Library(pydantic.BaseModel):
    model: _Model


class _File(pydantic.BaseModel):
    tokenizer: _Library


def check_characters(texts: Sequence[str]) -> None:
    """Raises TextError where a character is only half of one: the library takes nothing that is not UTF-8."""
    code_points("".join(texts))


def pieces(text: str) -> Iterator[str]:
    """The text in pieces for the cores, cut where it changes no token: where a word ends.

    Only what has no such place for long (one letter a million times) is cut anywhere.
    """
    start = 0
    while start + 2 * _PIECE < len(text):
        end = _WORD_ENDS.search(text, start + _PIECE, start + 2 * _PIECE)
        cut = end.start() if end else start + 2 * _PIECE
        yield text[start:cut]
        start = cut
    yield text[start:]
