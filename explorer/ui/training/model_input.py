"""What pages share that run a model on a text: example texts, and the head that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from explorer.errors import InvalidSetting, shorten
from explorer.ui.state.fields import setting

MAX_TEXT_LENGTH = 2_000  # characters of a text
HEAD_PATTERN = re.compile(r"(\d{1,2})\.(\d{1,2})")
Head: TypeAlias = tuple[int, int]  # layer and head, both counted from 0
ENGLISH_EXAMPLES = (
    "The film is not good",
    "Not bad at all",
    "Nobody liked the soup",
    "I don't think the new teacher is rude",
    "The plot is weak but the acting is great",
    "The hotel could not be better",
)
TASK_EXAMPLES: dict[str, tuple[str, ...]] = {  # by task
    "reverse": ("2718281828", "314159", "00000000", "12345678901234567890", "9876543210987654321098765"),
    "copy": ("2718281828", "314159", "00000000", "12345678901234567890", "9876543210987654321098765"),
    "dates": ("3rd of march 1997", "12/10/2003", "tuesday 4 july 2028", "31 february 1999", "5-nov-55"),
    "sentiment": ENGLISH_EXAMPLES,
}
SENTENCE_EXAMPLES = ("human not preserve nature", "human preserve nature", "human not destroy nature")
AGREEMENT_EXAMPLES = (
    "the king near the queens behind the aunts is proud of",
    "the queen near the kings behind the uncles is proud of",
    "the kings near the queen are proud of",
    "the king near the queens",
)
TEXT_EXAMPLES = ("the night and the day", "the night and no day", "Romeo, Romeo, O Romeo", "xqz vrk xqz vrk xqz v")


@dataclass(frozen=True)
class HeadSelection:
    """An attention head of a stored model and the text that it reads: URL parameters that pages on attention share.

    The default head attends to the previous token in most contexts.
    """

    model: str = setting("text-through-training")
    say: str | None = setting(None, longest=MAX_TEXT_LENGTH)  # None: the first of the model's examples
    layer: int = setting(1, low=0, high=63)
    head: int = setting(2, low=0, high=63)


def check_heads(given: object) -> None:
    """Raise InvalidSetting if these are no names of heads."""
    named = [str(one) for one in given] if isinstance(given, tuple) else [str(given)]
    if not all(map(HEAD_PATTERN.fullmatch, named)):
        raise InvalidSetting(
            f"“{shorten(','.join(named))}” names no heads. Write layer.head, counted from 0, with commas between: "
            "0.1,2.3."
        )


def parse_heads(names: Iterable[str]) -> frozenset[Head]:
    """Return layer and head of each name, as in `0.1`."""
    return frozenset((int(m[1]), int(m[2])) for m in map(HEAD_PATTERN.fullmatch, names) if m)


def format_heads(heads: Iterable[Head]) -> tuple[str, ...]:
    """Return the names of heads as a URL has them, sorted."""
    return tuple(f"{layer}.{head}" for layer, head in sorted(heads))


def clamp_heads(names: tuple[str, ...], layers: int, count: int) -> tuple[str, ...]:
    """Return the names of those heads that a model has."""
    return format_heads((layer, head) for layer, head in parse_heads(names) if layer < layers and head < count)


def parse_head_event(value: object, size: tuple[int, int]) -> Head | None:
    """Return the head that a browser names as [layer, head]; None unless a model of this size has it."""
    if not (isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value)):
        return None
    layer, head = value
    return (layer, head) if 0 <= layer < size[0] and 0 <= head < size[1] else None


def parse_heads_event(value: object, size: tuple[int, int]) -> tuple[str, ...]:
    """Return the names of the heads in a list that a browser sent; heads that the model does not have are left out."""
    heads = [parse_head_event(one, size) for one in value] if isinstance(value, list) else []
    return format_heads({head for head in heads if head})
