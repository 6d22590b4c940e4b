"""Characters as tokens: nothing is lost, and nothing is gained either, since a row of tokens is as long as its text."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pydantic
from jaxtyping import Int, Int32, Integer, UInt32
from numpy import ndarray

from explorer.errors import TextError


class Characters:
    """The distinct characters of the text it was made from, in the order of their Unicode code points.

    It has no unknown token: characters that it does not know are dropped.
    """

    kind = "char"
    unknown = None
    padding = None
    merges: tuple[tuple[str, str], ...] = ()

    def __init__(self, characters: str):
        self.tokens = tuple(characters)
        self._points = code_points(characters)
        # The id of every code point, -1 for unknown ones. All those above the highest known one share the last place.
        self._ids = np.full(int(self._points.max()) + 2, -1, np.int32)
        self._ids[self._points] = np.arange(len(characters))

    @classmethod
    def train(cls, texts: Sequence[str], vocabulary: int) -> Characters:
        """All characters of the texts, how many tokens one may wish for. Raises TextError."""
        return cls("".join(frequencies(texts)))

    def encode(self, text: str) -> Int32[ndarray, " tokens"]:
        ids = self._with_gaps(text)
        return ids[ids >= 0]

    def encode_batch(self, texts: Sequence[str]) -> list[Int32[ndarray, " _"]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int] | Integer[ndarray, " tokens"]) -> str:
        points: UInt32[ndarray, " tokens"] = self._points[checked(ids, len(self.tokens))]
        return points.tobytes().decode("utf-32-le")

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        return [(id, place, place + 1) for place, id in enumerate(self._with_gaps(text).tolist()) if id >= 0]

    def unknown_in(self, text: str) -> list[str]:
        places = np.flatnonzero(self._with_gaps(text) < 0).tolist()
        return list(dict.fromkeys(text[place] for place in places))

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "characters": "".join(self.tokens)})

    @classmethod
    def from_json(cls, text: str) -> Characters:
        """Raises ValueError."""
        characters = _File.model_validate_json(text).characters
        if not characters or list(characters) != sorted(set(characters)):
            raise ValueError("its characters are not in order, or there are none")
        return cls(characters)

    def _with_gaps(self, text: str) -> Int32[ndarray, " characters"]:
        """An id for every character, -1 for the unknown ones."""
        ids: Int32[ndarray, " characters"] = self._ids.take(code_points(text), mode="clip")
        return ids


class _File(pydantic.BaseModel):
    characters: str


def code_points(text: str) -> UInt32[ndarray, " characters"]:
    """The Unicode code point of each character. Raises TextError where one is only half of a character."""
    try:
        points: UInt32[ndarray, " characters"] = np.frombuffer(text.encode("utf-32-le"), "<u4")
        return points
    except UnicodeEncodeError as error:
        raise TextError(
            f"The text holds half a character (a lone surrogate) at place {error.start + 1:,}. "
            "Delete it, or save the text as UTF-8."
        ) from None


def frequencies(texts: Sequence[str]) -> dict[str, int]:
    """How often each character stands in the texts, in the order of the code points. Raises TextError."""
    counts = np.bincount(code_points("".join(texts)))
    return {chr(point): int(counts[point]) for point in np.flatnonzero(counts).tolist()}


def checked(ids: Sequence[int] | Integer[ndarray, " tokens"], tokens: int) -> Int[ndarray, " tokens"]:
    """Ids to be decoded, as an array. Raises ValueError where one is of no token (numpy would count from the end)."""
    array = np.asarray(ids, np.int64)
    if array.size and not 0 <= array.min() <= array.max() < tokens:
        raise ValueError(f"ids reach from {array.min()} to {array.max()}, but there are {tokens} tokens, from 0 on")
    return array
