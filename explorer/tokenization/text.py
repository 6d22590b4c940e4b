"""Text as a row of ids, and back: four kinds of tokenizers behind one interface.

char: characters. word: the most frequent words. bpe: frequent pieces of words, as in the assignment. bytes: frequent
pieces of the text's bytes, as in GPT-2. Only char (on characters it knows) and bytes give the very same text back.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

import pydantic
from jaxtyping import Int32, Integer
from numpy import ndarray

from explorer.errors import DamagedRun, InvalidSetting, TextError, shortened
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
_NAMED = 3  # unknown characters or words that a sentence names
_SHOWN_BYTE = re.compile(r"\\x([89a-f][0-9a-f])")  # how a token shows a byte that is only a part of a character
_LONGEST_CHARACTER = 4  # bytes of it in UTF-8, so tokens: what stands before does not change what comes next


@runtime_checkable
class Tokenizer(Protocol):
    """What a language model and a page need of a tokenizer. It never changes; any thread may use it."""

    @property
    def kind(self) -> str: ...

    @property
    def tokens(self) -> tuple[str, ...]:
        r"""By id, as a person reads them; a byte that is only a part of a character as \xf0."""

    @property
    def unknown(self) -> int | None:
        """The id of "<unk>", if it has one."""

    @property
    def padding(self) -> int | None:
        """The id of "<pad>", if it has one."""

    @property
    def merges(self) -> tuple[tuple[str, str], ...]:
        """The pairs of tokens that became one, in the order they were learned; none for characters and words."""

    def encode(self, text: str) -> Int32[ndarray, " tokens"]:
        """What it does not know becomes `unknown`, or is dropped where there is none. Raises TextError."""

    def encode_batch(self, texts: Sequence[str]) -> list[Int32[ndarray, " _"]]:
        """`encode` of many texts, on all cores. Raises TextError."""

    def decode(self, ids: Sequence[int] | Integer[ndarray, " tokens"]) -> str:
        """The text again, as far as its kind allows; padding is left out."""

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """(id, start, end) of each token of `encode`, in characters of the text.

        Tokens that are parts of one character all have the place of that character. Raises TextError.
        """

    def unknown_in(self, text: str) -> list[str]:
        """The characters (of words: the words) that it does not know, each once, in order. Raises TextError."""

    def to_json(self) -> str: ...


def train(kind: str, text: str | Sequence[str], vocabulary: int) -> Tokenizer:
    """Learn from one text or from many at most `vocabulary` tokens; the same text gives the same tokenizer.

    The number is a wish: a text that cannot give so many gives fewer. Characters are what they are, whatever the wish.
    Raises InvalidSetting, TextError.
    """
    if kind not in _CLASSES:
        raise InvalidSetting(f"There is no tokenizer “{shortened(kind)}”. There is {', '.join(KINDS)}.")
    texts = [text] if isinstance(text, str) else text
    if not any(texts):
        raise TextError("The text is empty: no tokenizer can learn from it. Give one with words in it.")
    return _CLASSES[kind].train(texts, vocabulary)


def from_json(text: str) -> Tokenizer:
    """What `to_json` wrote, maybe on another machine. Raises DamagedRun."""
    try:
        kind = _File.model_validate_json(text).kind
        if kind not in _CLASSES:
            raise ValueError(f"there is no kind “{shortened(kind)}”")
        return _CLASSES[kind].from_json(text)
    except ValueError as error:  # pydantic's errors are ValueErrors
        reason = error.errors()[0]["msg"] if isinstance(error, pydantic.ValidationError) else error
        raise DamagedRun(
            f"The tokenizer of this run cannot be read: {shortened(reason, 120)}. Train it again."
        ) from error


class _File(pydantic.BaseModel):
    kind: str


class RoundTrip(NamedTuple):
    """A text after `encode` and `decode`."""

    text: str
    exact: bool
    lost: str  # what is lost or put in, for the middle of a sentence; empty if exact


def round_trip(tokenizer: Tokenizer, text: str) -> RoundTrip:
    """The text through the tokenizer and back, compared with itself. Raises TextError."""
    ids = tokenizer.encode(text)
    decoded = tokenizer.decode(ids)
    if decoded == text:
        return RoundTrip(decoded, True, "")
    return RoundTrip(decoded, False, ", ".join([*_unknown(tokenizer, text), *_spaces(tokenizer, text, decoded)]))


def _unknown(tokenizer: Tokenizer, text: str) -> list[str]:
    names = tokenizer.unknown_in(text)
    if not names:
        return []
    noun = "word" if tokenizer.kind == "word" else "character"
    shown = ", ".join(f"“{shortened(name, 24)}”" for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return [f"{len(names):,} unknown {noun}{'s' * (len(names) != 1)} ({shown}{more})"]


def _spaces(tokenizer: Tokenizer, text: str, decoded: str) -> list[str]:
    """How the spaces differ. Everything else is the same in both texts, once what is unknown is called so in both."""
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
    """A text that grows token by token: what each one adds to what `decode` says of all of them.

    Tokens that are parts of a character add nothing, until one completes it: that one adds the character.
    The text may begin behind that of other ids, `after`.
    """

    def __init__(self, tokenizer: Tokenizer, after: Sequence[int] | Integer[ndarray, " before"] = ()) -> None:
        self._tokenizer = tokenizer
        self._last: list[int] = []  # the token before the next one, as far as it decides on a space between them
        self._added: dict[tuple[int, ...], str] = {}
        self._bytes: dict[int, bytes] = {}
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        for id in [id for id in after if id != tokenizer.padding][-_LONGEST_CHARACTER:]:
            self.step(int(id))

    def step(self, id: int) -> str:
        """What one more token adds. Raises ValueError where it is of no token."""
        if self._tokenizer.kind == "bytes":
            return self._characters.decode(self._bytes_of(id))
        added = self._behind(*self._last, id)
        if self._tokenizer.kind != "char" and id != self._tokenizer.padding:
            self._last = [id]
        return added

    def end(self) -> str:
        """What stands for a character at the end that no token completed; empty if there is none."""
        return self._characters.decode(b"", final=True)

    def _behind(self, *tokens: int) -> str:
        """What the last of one or two tokens adds."""
        added = self._added.get(tokens)
        if added is None:
            before = len(self._behind(tokens[0])) if len(tokens) == 2 else 0
            added = self._added[tokens] = self._tokenizer.decode(tokens)[before:]
        return added

    def _bytes_of(self, id: int) -> bytes:
        """What a token of the kind “bytes” stands for."""
        found = self._bytes.get(id)
        if found is None:
            text = self._tokenizer.decode([id])
            shown = self._tokenizer.tokens[id]
            if shown == text:  # whole characters
                found = text.encode()
            else:
                parts = _SHOWN_BYTE.split(shown)  # in turns: what stands between, two digits of a byte
                found = b"".join(bytes.fromhex(part) if i % 2 else part.encode() for i, part in enumerate(parts))
            self._bytes[id] = found
        return found


def pieces(
    tokenizer: Tokenizer,
    ids: Sequence[int] | Integer[ndarray, " tokens"],
    after: Sequence[int] | Integer[ndarray, " before"] = (),
) -> list[str]:
    """What each token adds to the text: together they are what `decode` says of all ids.

    With `after`, what each adds behind the text of those ids. A token that completes no character adds nothing; only
    the last one adds what stands for the missing rest. Raises ValueError for ids of no token.
    """
    stream = DecodeStream(tokenizer, after)
    added = [stream.step(int(id)) for id in ids]
    if added:
        added[-1] += stream.end()
    return added


def characters_per_token(tokenizer: Tokenizer, text: str) -> float:
    """How much of a text one token stands for, on average; NaN if the text gives no token. Raises TextError."""
    tokens = len(tokenizer.encode(text))
    return len(text) / tokens if tokens else math.nan


def unknown_rate(tokenizer: Tokenizer, text: str) -> float:
    """Share of a text's tokens (of characters: of its characters) that are unknown; NaN if there are none.

    Raises TextError.
    """
    ids = tokenizer.encode(text)
    if isinstance(tokenizer, Characters):  # it drops what it does not know
        return 1 - len(ids) / len(text) if text else math.nan
    return float((ids == tokenizer.unknown).mean()) if len(ids) else math.nan
