"""The common interface of the four tokenizers of text: training, JSON, round trips and streaming.

char: characters. word: the most frequent words. bpe: BPE on characters, as in the assignment. bytes: BPE on UTF-8
bytes, as in GPT-2. Only char (without unknown characters) and bytes are lossless.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

import pydantic
from numpy import ndarray

from explorer.array_types import Int32, Integer
from explorer.errors import DamagedRun, InvalidSetting, TextError, shorten
from explorer.tokenization.characters import Characters
from explorer.tokenization.pipeline import Pipeline
from explorer.tokenization.subwords import BPE, ByteLevelBPE
from explorer.tokenization.word_level import WordLevel

_CLASSES: Final[dict[str, type[Characters] | type[Pipeline]]] = {
    "char": Characters,
    "word": WordLevel,
    "bpe": BPE,
    "bytes": ByteLevelBPE,
}
KINDS: Final = tuple(_CLASSES)
_MAX_NAMED = 3  # unknown characters or words that a message lists
_ESCAPED_BYTE = re.compile(r"\\x([89a-f][0-9a-f])")  # a byte of an incomplete character, as tokens show it
_MAX_CHARACTER_BYTES = 4  # in UTF-8; earlier tokens do not affect the next character


@runtime_checkable
class Tokenizer(Protocol):
    """The interface of a tokenizer. It is immutable and thread-safe."""

    @property
    def kind(self) -> str: ...

    @property
    def tokens(self) -> tuple[str, ...]:
        r"""The readable tokens by id; a byte of an incomplete character is escaped as \xf0."""

    @property
    def unknown(self) -> int | None:
        """The id of "<unk>", or None."""

    @property
    def padding(self) -> int | None:
        """The id of "<pad>", or None."""

    @property
    def merges(self) -> tuple[tuple[str, str], ...]:
        """The merged pairs of tokens, in the order in which they were learned; empty for characters and words."""

    def encode(self, text: str) -> Int32[ndarray, " tokens"]:
        """Return the ids of a text. Unknown parts become `unknown`, or are dropped if it is None. Raises TextError."""

    def encode_batch(self, texts: Sequence[str]) -> list[Int32[ndarray, " _"]]:
        """Encode many texts in parallel. Raises TextError."""

    def decode(self, ids: Sequence[int] | Integer[ndarray, " tokens"]) -> str:
        """Return the text of ids, without padding. Raises ValueError if an id is not in the vocabulary."""

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Return (id, start, end) of each token of `encode`, in characters; parts of one character share its span."""

    def find_unknown(self, text: str) -> list[str]:
        """Return the unknown characters (or words) of a text, each once, in order. Raises TextError."""

    def to_json(self) -> str: ...


def train(kind: str, text: str | Sequence[str], vocabulary: int) -> Tokenizer:
    """Train a tokenizer with at most `vocabulary` tokens on one or several texts. Training is deterministic.

    A small text gives fewer tokens. The kind "char" ignores `vocabulary`. Raises InvalidSetting for an unknown kind or
    a vocabulary that is too small, TextError for a text without tokens.
    """
    if kind not in _CLASSES:
        raise InvalidSetting(f"There is no tokenizer “{shorten(kind)}”. There is {', '.join(KINDS)}.")
    texts = [text] if isinstance(text, str) else text
    if not any(texts):
        raise TextError("The text is empty: no tokenizer can learn from it. Give one with words in it.")
    return _CLASSES[kind].train(texts, vocabulary)


def from_json(text: str) -> Tokenizer:
    """Return the tokenizer that `to_json` wrote. Raises DamagedRun if the JSON text is damaged."""
    try:
        kind = _File.model_validate_json(text).kind
        if kind not in _CLASSES:
            raise ValueError(f"there is no kind “{shorten(kind)}”")
        return _CLASSES[kind].from_json(text)
    except ValueError as error:  # pydantic's errors are ValueErrors
        reason = error.errors()[0]["msg"] if isinstance(error, pydantic.ValidationError) else error
        raise DamagedRun(
            f"The tokenizer of this run cannot be read: {shorten(reason, 120)}. Train it again."
        ) from error


class _File(pydantic.BaseModel):
    kind: str


class RoundTrip(NamedTuple):
    """A text after `encode` and `decode`."""

    text: str
    exact: bool
    differences: str  # what changed, for the middle of a sentence; empty if exact


def round_trip(tokenizer: Tokenizer, text: str) -> RoundTrip:
    """Encode and decode a text, and compare the result with it. Raises TextError."""
    ids = tokenizer.encode(text)
    decoded = tokenizer.decode(ids)
    if decoded == text:
        return RoundTrip(decoded, True, "")
    folded = tokenizer.fold(text) if isinstance(tokenizer, WordLevel) else text
    variants = ["variants of characters (such as ’ for ')"] if folded != text else []
    spaces = _describe_spaces(tokenizer, folded, decoded)
    return RoundTrip(decoded, False, ", ".join([*_describe_unknown(tokenizer, text), *variants, *spaces]))


def _describe_unknown(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return a phrase about the unknown parts of a text, or an empty list."""
    names = tokenizer.find_unknown(text)
    if not names:
        return []
    noun = "word" if tokenizer.kind == "word" else "character"
    shown = ", ".join(f"“{shorten(name, 24)}”" for name in names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return [f"{len(names):,} unknown {noun}{'s' * (len(names) != 1)} ({shown}{more})"]


def _describe_spaces(tokenizer: Tokenizer, text: str, decoded: str) -> list[str]:
    """Return a phrase about changed white space, or an empty list. The texts differ only there and in unknown parts."""
    if tokenizer.unknown is None:
        return []
    unknown = tokenizer.tokens[tokenizer.unknown]
    parts: list[str] = []
    last = 0
    for id, start, end in tokenizer.spans(text):
        parts += [text[last:start], unknown if id == tokenizer.unknown else text[start:end]]
        last = end
    gaps = zip(re.split(r"\S", "".join(parts) + text[last:]), re.split(r"\S", decoded), strict=True)
    different = [(before, after) for before, after in gaps if before != after]
    counts = {
        "put in": sum(not before for before, _ in different),
        "lost": sum(not after for _, after in different),
        "changed": sum(bool(before and after) for before, after in different),
    }
    found = " and ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return [f"spaces or line ends: {found}"] if found else []


class DecodeStream:
    """Decodes a text token by token: `step` returns the text that each token adds to the decoded text.

    A token that is a part of a character adds nothing; the token that completes the character adds it.
    `after`: ids that precede the text.
    """

    def __init__(self, tokenizer: Tokenizer, after: Sequence[int] | Integer[ndarray, " before"] = ()) -> None:
        self._tokenizer = tokenizer
        self._last: list[int] = []  # the previous token, if it affects the space before the next one
        self._added: dict[tuple[int, ...], str] = {}
        self._bytes: dict[int, bytes] = {}
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        for id in [id for id in after if id != tokenizer.padding][-_MAX_CHARACTER_BYTES:]:
            self.step(int(id))

    def step(self, id: int) -> str:
        """Return the text that one more token adds. Raises ValueError if the id is not in the vocabulary."""
        if self._tokenizer.kind == "bytes":
            return self._characters.decode(self._token_bytes(id))
        added = self._added_text(*self._last, id)
        if self._tokenizer.kind != "char" and id != self._tokenizer.padding:
            self._last = [id]
        return added

    def end(self) -> str:
        """Return the replacement of an incomplete character at the end; empty if there is none."""
        return self._characters.decode(b"", final=True)

    def _added_text(self, *tokens: int) -> str:
        """Return the text that the last of one or two tokens adds."""
        added = self._added.get(tokens)
        if added is None:
            before = len(self._added_text(tokens[0])) if len(tokens) == 2 else 0
            added = self._added[tokens] = self._tokenizer.decode(tokens)[before:]
        return added

    def _token_bytes(self, id: int) -> bytes:
        """Return the bytes of a token of the kind “bytes”."""
        found = self._bytes.get(id)
        if found is None:
            text = self._tokenizer.decode([id])
            shown = self._tokenizer.tokens[id]
            if shown == text:  # whole characters
                found = text.encode()
            else:
                parts = _ESCAPED_BYTE.split(shown)  # alternately text and the two digits of a byte
                found = b"".join(bytes.fromhex(part) if i % 2 else part.encode() for i, part in enumerate(parts))
            self._bytes[id] = found
        return found


def pieces(
    tokenizer: Tokenizer,
    ids: Sequence[int] | Integer[ndarray, " tokens"],
    after: Sequence[int] | Integer[ndarray, " before"] = (),
) -> list[str]:
    """Return the text that each token adds; joined, the pieces are the decoded text of all ids.

    `after`: ids that precede the text. A token that completes no character adds nothing; only the last one adds the
    replacement of an incomplete character. Raises ValueError if an id is not in the vocabulary.
    """
    stream = DecodeStream(tokenizer, after)
    added = [stream.step(int(id)) for id in ids]
    if added:
        added[-1] += stream.end()
    return added


def unknown_rate(tokenizer: Tokenizer, text: str) -> float:
    """Return the share of unknown tokens (of "char": characters), or NaN without tokens. Raises TextError."""
    ids = tokenizer.encode(text)
    if isinstance(tokenizer, Characters):  # it drops unknown characters
        return 1 - len(ids) / len(text) if text else math.nan
    return float((ids == tokenizer.unknown).mean()) if len(ids) else math.nan
