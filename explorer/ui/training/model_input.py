"""The text that a model reads and its heads, as URLs and events of components name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from explorer.errors import InvalidSetting, shorten
from explorer.generation import generate
from explorer.inspection.attention import attend
from explorer.model.model import Model
from explorer.ui.state.fields import setting
from explorer.ui.wording import quote_first

MAX_TEXT_LENGTH = 2_000  # characters of a text
HEAD_PATTERN = re.compile(r"(\d{1,2})\.(\d{1,2})")
Head: TypeAlias = tuple[int, int]  # layer and head, both counted from 0


@dataclass(frozen=True)
class HeadSelection:
    """An attention head of a stored model and the text that it reads: URL parameters that pages on attention share.

    The default head attends to the previous token in most contexts.
    """

    model: str = setting("text-through-training")
    say: str | None = setting(None, longest=MAX_TEXT_LENGTH)  # None: the first of the model's examples
    layer: int = setting(1, low=0, high=63)
    head: int = setting(2, low=0, high=63)


def input_notes(model: Model, text: attend.TokenizedInput) -> list[str]:
    """Return what of a text was changed or left out for a model, in sentences."""
    notes = list[str]()
    if text.empty:
        notes.append(generate.FROM_NOTHING)
    if text.truncated:
        where = "The beginning" if text.truncated_at == "start" else "The end"
        limit = "The model reads" if len(text.ids) == model.context_length else "There is room for"
        count = f"{len(text.ids)} {model.unit}s"
        notes.append(f"{limit} {count} at once. {where} was left out: “{shorten(text.truncated)}”.")
    if text.lowercased:
        notes.append("The model was trained on lower-case letters, so the text is read in lower case.")
    for unseen, become in ((text.dropped, "left out"), (text.unknown, "read as <unk>")):
        if unseen:
            notes.append(f"The training text has no {quote_first(unseen)}: {become}.")
    return notes


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
