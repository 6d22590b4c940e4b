"""What a visitor of the attention explorer looks at; each field is a part of the address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from explorer.errors import InvalidSetting, shortened

LONGEST = 2_000  # characters of a text
MOST_TOKENS = 1_024  # the longest context there is
HEAD = re.compile(r"(\d{1,2})\.(\d{1,2})")
Head: TypeAlias = tuple[int, int]  # layer and head, both counted from 0


def _heads(given: object) -> None:
    named = [str(one) for one in given] if isinstance(given, tuple) else [str(given)]
    if not all(map(HEAD.fullmatch, named)):
        raise InvalidSetting(
            f"“{shortened(','.join(named))}” names no heads. Write layer.head, counted from 0, with commas between: "
            "0.1,2.3."
        )


@dataclass(frozen=True)
class Gaze:
    """A model, a text, and where one looks in it."""

    model: str = "text-through-training"
    run: str = ""  # one run, as any page's address may name it
    # What was typed; None: what fits the model.
    say: str | None = field(default=None, metadata={"longest": LONGEST})
    seed: int = field(default=0, metadata={"low": 0, "high": 31})  # which of a run's replicas
    step: int | None = field(default=None, metadata={"low": 0, "high": 1e9})  # of the training; None: its end
    layer: int = field(
        default=1, metadata={"low": 0, "high": 63}
    )  # where the usual model has a head with a clear habit
    head: int = field(default=2, metadata={"low": 0, "high": 63})
    at: int | None = field(
        default=None, metadata={"low": 0, "high": MOST_TOKENS - 1}
    )  # the token that asks; None: the last
    view: Literal["lines", "matrix"] = "lines"
    scale: Literal["one", "row"] = "one"
    sort: Literal["place", "previous", "itself", "first", "same", "after_same", "spread", "worth"] = "place"
    off: tuple[str, ...] = field(default=(), metadata={"check": _heads})  # heads that say nothing
    flat: tuple[str, ...] = field(default=(), metadata={"check": _heads})  # heads that look everywhere alike
    unmasked: bool = False
    unplaced: bool = False
    walk: int = field(default=0, metadata={"low": 0, "high": 6})  # step of the walk through one head

    @property
    def touched(self) -> bool:
        """Whether anything in the model is not as it learned it."""
        return bool(self.off or self.flat or self.unmasked or self.unplaced)

    def settled(self, wanted: str = "") -> Gaze:
        """The same, where one run is asked for by name: that one is looked into."""
        run = self.run or wanted
        return replace(self.of_model(run), run="") if run else self

    def of_model(self, model: str, usual: Sequence[str] = ()) -> Gaze:
        """Another model has other heads, snapshots and seeds; the text stays if somebody typed it. `usual` are the
        texts that the old model offered."""
        if model == self.model:
            return self
        say = None if self.say in usual else self.say
        return Gaze(model=model, say=say, view=self.view, scale=self.scale)

    def saying(self, text: str) -> Gaze:
        """Another text; who asked in the old one is nobody here. Raises InvalidSetting."""
        if len(text) > LONGEST:
            raise InvalidSetting(
                f"A text has at most {LONGEST:,} characters here; this one has {len(text):,}. Shorten it."
            )
        return replace(self, say=text, at=None)

    def within(self, layers: int, heads: int, tokens: int) -> Gaze:
        """The same, as far as the model has such heads and the text such tokens."""
        return replace(
            self,
            layer=min(self.layer, layers - 1),
            head=min(self.head, heads - 1),
            at=None if self.at is None or self.at >= tokens else self.at,
            off=_inside(self.off, layers, heads),
            flat=_inside(self.flat, layers, heads),
        )


def heads(names: Iterable[str]) -> frozenset[Head]:
    """Layer and head of each, from how an address writes them."""
    return frozenset((int(m[1]), int(m[2])) for m in map(HEAD.fullmatch, names) if m)


def named(heads: Iterable[Head]) -> tuple[str, ...]:
    """As an address writes them."""
    return tuple(f"{layer}.{head}" for layer, head in sorted(heads))


def _inside(names: tuple[str, ...], layers: int, count: int) -> tuple[str, ...]:
    return named((layer, head) for layer, head in heads(names) if layer < layers and head < count)
