"""A tokenizer whose tokens are single characters; a text has as many tokens as characters."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pydantic
from numpy import ndarray

from explorer.array_types import Int, Int32, Integer, UInt32
from explorer.errors import TextError


class Characters:
    """The distinct characters of its training text, in the order of their code points; other characters are dropped."""

    kind = "char"
    unknown = None
    padding = None
    merges: tuple[tuple[str, str], ...] = ()

    def __init__(self, characters: str):
        self.tokens = tuple(characters)
        self._points = code_points(characters)
        # The id of every code point, -1 if unknown. Code points above the highest known one share the last entry.
        self._ids = np.full(int(self._points.max()) + 2, -1, np.int32)
        self._ids[self._points] = np.arange(len(characters))

    @classmethod
    def train(cls, texts: Sequence[str], vocabulary: int) -> Characters:
        """Return the tokenizer of all characters of the texts; `vocabulary` is ignored. Raises TextError."""
        return cls("".join(count_characters(texts)))

    def encode(self, text: str) -> Int32[ndarray, " tokens"]:
        ids = self._ids_with_gaps(text)
        return ids[ids >= 0]

    def encode_batch(self, texts: Sequence[str]) -> list[Int32[ndarray, " _"]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int] | Integer[ndarray, " tokens"]) -> str:
        points: UInt32[ndarray, " tokens"] = self._points[check_ids(ids, len(self.tokens))]
        return points.tobytes().decode("utf-32-le")

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        return [
            (id, position, position + 1) for position, id in enumerate(self._ids_with_gaps(text).tolist()) if id >= 0
        ]

    def find_unknown(self, text: str) -> list[str]:
        positions = np.flatnonzero(self._ids_with_gaps(text) < 0).tolist()
        return list(dict.fromkeys(text[position] for position in positions))

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "characters": "".join(self.tokens)})

    @classmethod
    def from_json(cls, text: str) -> Characters:
        """Return the tokenizer from its JSON text. Raises ValueError if it is damaged."""
        characters = _File.model_validate_json(text).characters
        if not characters or list(characters) != sorted(set(characters)):
            raise ValueError("its characters are not in order, or there are none")
        return cls(characters)

    def _ids_with_gaps(self, text: str) -> Int32[ndarray, " characters"]:
        """Return the id of every character, -1 for unknown ones."""
        return self._ids.take(code_points(text), mode="clip")


class _File(pydantic.BaseModel):
    characters: str


def code_points(text: str) -> UInt32[ndarray, " characters"]:
    """Return the Unicode code point of each character. Raises TextError for a lone surrogate."""
    try:
        return np.frombuffer(text.encode("utf-32-le"), "<u4")
    except UnicodeEncodeError as error:
        raise TextError(
            f"The text holds half a character (a lone surrogate) at place {error.start + 1:,}. "
            "Delete it, or save the text as UTF-8."
        ) from None


def count_characters(texts: Sequence[str]) -> dict[str, int]:
    """Count each character of the texts, in the order of the code points. Raises TextError."""
    counts = np.bincount(code_points("".join(texts)))
    return {chr(point): int(counts[point]) for point in np.flatnonzero(counts).tolist()}


def check_ids(ids: Sequence[int] | Integer[ndarray, " tokens"], tokens: int) -> Int[ndarray, " tokens"]:
    """Return ids as an array. Raises ValueError if one is not in the vocabulary (NumPy accepts negative indices)."""
    array = np.asarray(ids, np.int64)
    if array.size and not 0 <= array.min() <= array.max() < tokens:
        raise ValueError(f"ids reach from {array.min()} to {array.max()}, but there are {tokens} tokens, from 0 on")
    return array
