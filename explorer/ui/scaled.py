"""What a visitor of the page on scaled dot-product attention has chosen, and the instrument with the tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from explorer.errors import InvalidSetting, shortened
from explorer.training.labelling_runs import CONTESTANTS, SCALES
from explorer.ui import address
from explorer.ui.components import ears, heard, register
from explorer.ui.gaze import LONGEST, Gaze
from explorer.ui.tagged import Raced

LEAST, MOST = 2, 6  # tokens, and dimensions of the small tables
LONGEST_WORDS = 80  # letters of the words of the small tables
LARGEST = 100.0  # a number in a table, without its sign
STEPS = ("scores", "scaled", "masked", "weights", "out")
_SET = ("width", "q", "k", "v", "draw", "divide", "mask", "padding", "at")  # what is set in the instrument
_CELL = re.compile(rf"(?:{'|'.join(STEPS)})\.\d{{1,2}}\.\d{{1,2}}")
_KEY = "dotproduct"
_dotproduct = register(_KEY)


def _numbers(given: object) -> None:
    values = given if isinstance(given, tuple) else ()
    if len(values) > MOST * MOST or not all(math.isfinite(v) and abs(v) <= LARGEST for v in values):
        raise InvalidSetting(
            f"A table of this page has at most {MOST} rows and {MOST} columns of numbers from −{LARGEST:g} to "
            f"{LARGEST:g}; one in the address was left out."
        )


def _cell(given: object) -> None:
    if not _CELL.fullmatch(str(given)):
        raise InvalidSetting(
            f"“{shortened(str(given))}” names no cell. Write step.row.column, counted from 0: scores.2.1."
        )


def _words(given: object) -> None:
    if len(str(given)) > LONGEST_WORDS:
        raise InvalidSetting(f"Words of {len(str(given)):,} characters are too long. Give at most {LONGEST_WORDS}.")


def _padding(given: object) -> None:
    if not (isinstance(given, tuple) and all(0 <= v < MOST for v in given)):
        raise InvalidSetting(f"Padding names tokens from 0 to {MOST - 1}.")


_TABLE = {"check": _numbers}


@dataclass(frozen=True)
class Scaled(Raced):
    """The tables, the model they may be taken from, the width of random vectors, and the race."""

    TASK: ClassVar[str] = "echo"
    who: tuple[str, ...] = tuple(CONTESTANTS[name].name for name in SCALES)
    seeds: int = field(default=5, metadata={"low": 1, "high": 16})
    source: Literal["tables", "model"] = "tables"
    words: str = field(default="the cat sat down", metadata={"check": _words})
    width: int = field(default=4, metadata={"low": LEAST, "high": MOST})
    q: tuple[float, ...] = field(default=(), metadata=_TABLE)  # row by row; empty: what `draw` says
    k: tuple[float, ...] = field(default=(), metadata=_TABLE)
    v: tuple[float, ...] = field(default=(), metadata=_TABLE)
    draw: int = field(default=0, metadata={"low": 0, "high": 9999})  # a seed; 0: numbers that tell a story
    divide: bool = True
    mask: Literal["none", "causal", "padding"] = "none"
    padding: tuple[int, ...] = field(default=(3,), metadata={"check": _padding})
    at: str = field(default="", metadata={"check": _cell})  # a cell that was clicked: step.row.column
    model: str = Gaze.model
    say: str | None = field(default=None, metadata={"longest": LONGEST})  # None: what fits the model
    layer: int = field(default=Gaze.layer, metadata={"low": 0, "high": 63})
    head: int = field(default=Gaze.head, metadata={"low": 0, "high": 63})
    wide: int = field(default=64, metadata={"low": 1, "high": 1024})  # d_k of the random vectors

    @property
    def of_task(self) -> Mapping[str, object]:
        return {}

    @property
    def tokens(self) -> list[str]:
        """The words of the small tables: at least two, at most six."""
        found = self.words.split()[:MOST]
        return found + [f"word {i + 1}" for i in range(len(found), LEAST)]

    @property
    def troubles(self) -> list[str]:
        """What of the words and the tables could not be used."""
        count, found = len(self.words.split()), []
        if count > MOST:
            found.append(f"The sentence has {count} words; the tables hold {MOST}, and the first {MOST} are shown.")
        elif count < LEAST:
            found.append(
                f"The sentence has {count or 'no'} word{'s' * (count != 1)}; the tables need {LEAST} to {MOST}."
            )
        broken = [name.upper() for name in "qkv" if len(getattr(self, name)) % self.width]
        if broken:
            found.append(
                f"The numbers of {' and '.join(broken)} do not fill rows of {self.width}; the usual ones stand there. "
                f"Give a multiple of {self.width} numbers, or another width."
            )
        return found

    @property
    def gaze(self) -> Gaze:
        """The same model, sentence and head in the attention explorer."""
        return Gaze(model=self.model, say=self.say, layer=self.layer, head=self.head)

    @property
    def set_here(self) -> dict[str, object]:
        """What is set in the instrument."""
        found: dict[str, object] = {}
        for name in _SET:
            value = getattr(self, name)
            found[name] = list(value) if isinstance(value, tuple) else value
        return found | {name: [] for name in "qkv" if len(getattr(self, name)) % self.width}

    def sized(self, count: int) -> Scaled:
        """The same with that many tokens: the last ones go, new ones are named by their number."""
        words = self.tokens[:count]
        words += [f"word{i + 1}" for i in range(len(words), min(count, MOST))]
        padding = tuple(i for i in self.padding if i < len(words)) or (len(words) - 1,)
        return replace(self, words=" ".join(words), padding=padding) if len(words) >= LEAST else self

    def of_model(self, model: str, usual: tuple[str, ...] = ()) -> Scaled:
        """Another model has other heads; the text stays if somebody typed it. `usual` are texts that the old one
        offered."""
        return replace(self, model=model, layer=0, head=0, at="", say=None if self.say in usual else self.say)

    def fresh(self) -> Scaled:
        """The tables as a newcomer finds them."""
        usual = Scaled()
        names = ("source", "words", *_SET, "model", "say", "layer", "head")
        return replace(self, **{name: getattr(usual, name) for name in names})


def taken(state: Scaled, said: object) -> Scaled:
    """The state after what the instrument told; as it was, where that is nothing one could set."""
    try:
        given = json.loads(str(said))
        told = {name: _text(given[name]) for name in _SET if name in given}
    except (ValueError, TypeError):
        return state
    new, problems = address.read(Scaled, {name: text for name, text in told.items() if text or name != "at"})
    return state if problems else replace(state, **{name: getattr(new, name) for name in told})


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def hear(state: Scaled) -> Scaled:
    """What the visitor last set in the instrument."""
    said = heard(_KEY, "set")
    state = state if said is None else taken(state, said)
    size = heard(_KEY, "size")
    return state.sized(size) if isinstance(size, int) and LEAST <= size <= MOST else state


def instrument(state: Scaled, model: Mapping[str, object] | None = None) -> None:
    """The tables and every step; see `assets/dotproduct.js`. `model` is a head that they are taken from."""
    tokens = model["tokens"] if model else state.tokens
    data = {"tokens": tokens, "state": state.set_here, "model": model, "file": "scaled-attention"}
    _dotproduct(data=data, key=_KEY, **ears(_KEY, "set", "size"))
