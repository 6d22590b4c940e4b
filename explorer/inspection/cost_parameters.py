"""Which part of a model holds how many parameters, counted from the model itself, each with its formula.

A formula is read off the model as well: it is built once more with sizes that are told apart by their value, and what
a shape is made of then shows. So no list of formulas can grow old.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import combinations_with_replacement
from typing import Final, TypeAlias

from explorer.seeds import generator
from explorer.tasks.text import TextConfig
from explorer.training.config import RunConfig, changed
from explorer.training.lesson import lesson

Terms: TypeAlias = Mapping[tuple[str, ...], int]  # a polynomial: how often each product of letters; () is 1
# The letter of each size, and a value by which it is known: no multiple, sum or product of them is like another.
LETTERS: Final = {"width": ("d", 46), "hidden": ("m", 31), "window": ("w", 29), "places": ("p", 139)}
VOCABULARY: Final = ("V", 53)
USUAL: Final = 65  # the vocabulary of a language model: the characters of Tiny Shakespeare
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Part:
    """The parameters of a layer with its bias; `count` is that of all its copies together."""

    name: str
    copies: int
    count: int
    terms: Terms  # of one copy

    @property
    def formula(self) -> str:
        """As one reads it: 4 × (d m + m)."""
        said = " + ".join(_term(letters, factor) for letters, factor in self.terms.items())
        if self.copies == 1:
            return said
        return f"{self.copies} × ({said})" if len(self.terms) > 1 else f"{self.copies} × {said}"


@dataclass(frozen=True)
class Parts:
    """A model, part by part."""

    parts: tuple[Part, ...]
    sizes: Mapping[str, int]  # of the letters in its formulas

    @property
    def total(self) -> int:
        return sum(part.count for part in self.parts)


def counted(config: RunConfig, vocabulary: int = USUAL) -> Parts:
    """The parameters of a model of these sizes; `vocabulary` is that of a language model.

    Raises InvalidSetting where sizes do not go together.
    """
    own = {f.name for f in fields(config.model)}
    named = {name: about for name, about in LETTERS.items() if name in own}
    probe: dict[str, object] = {f"model.{name}": value for name, (_, value) in named.items()}
    if "heads" in own:
        probe["model.heads"] = 1  # it divides whatever the width
    letters = {letter: value for letter, value in named.values()}
    sizes = {letter: int(getattr(config.model, name)) for name, (letter, _) in named.items()}
    if isinstance(config.task, TextConfig):
        letters[VOCABULARY[0]] = VOCABULARY[1]
        sizes[VOCABULARY[0]] = vocabulary
    told = dict(_shapes(changed(config, probe), VOCABULARY[1]))
    found: dict[tuple[str, tuple[tuple[tuple[str, ...], int], ...]], tuple[list[str], int]] = {}
    for layer, shapes in _layers(_shapes(config, vocabulary)).items():
        terms: Counter[tuple[str, ...]] = Counter()
        for name, _ in shapes:
            terms.update(_product(told[name], letters))
        key = re.sub(r"\.\d+", ".*", layer), tuple(terms.items())
        names, count = found.get(key, ([], 0))
        found[key] = [*names, layer], count + sum(math.prod(shape) for _, shape in shapes)
    parts = (Part(_name(names), len(names), count, dict(terms)) for (_, terms), (names, count) in found.items())
    return Parts(tuple(parts), sizes)


def _shapes(config: RunConfig, vocabulary: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The shape of every parameter."""
    known = vocabulary if isinstance(config.task, TextConfig) else None
    model = lesson(config.task).build(config, generator(config.seed, "start"), known)
    for name, value in model.named_parameters():
        yield name, tuple(value.shape)


def _layers(shapes: Iterator[tuple[str, tuple[int, ...]]]) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Weights and biases of a layer belong together."""
    found: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for name, shape in shapes:
        found.setdefault(re.sub(r"\.(weight|bias)$", "", name), []).append((name, shape))
    return found


def _product(shape: tuple[int, ...], letters: Mapping[str, int]) -> Terms:
    """What a shape is made of."""
    found: Terms = {(): 1}
    for size in shape:
        factor = _size(size, letters)
        found = {
            tuple(sorted((*a, *b))): found[a] * factor[b]  # no two of these products are alike
            for a in found
            for b in factor
        }
    return found


def _size(size: int, letters: Mapping[str, int]) -> Terms:
    """One axis: a few times a letter, a product or a sum of two; else a number that the task gives."""
    for letter, value in letters.items():
        if size % value == 0 and 1 <= size // value <= 4:
            return {(letter,): size // value}
    for a, b in combinations_with_replacement(letters, 2):
        if size == letters[a] * letters[b]:
            return {(a, b): 1}
        for one, other in ((1, 1), (1, 2), (2, 1)):
            if a != b and size == one * letters[a] + other * letters[b]:
                return {(a,): one, (b,): other}
    return {(): size}


def _term(letters: tuple[str, ...], factor: int) -> str:
    said = [
        letter if count == 1 else f"{letter}{count}".translate(_RAISED)
        for letter, count in sorted(Counter(letters).items())
    ]
    return " ".join([f"{factor:,}"] * (factor > 1 or not said) + said)


def _name(names: list[str]) -> str:
    """blocks.0.expand and blocks.1.expand are blocks[0–1].expand."""
    first, last = (re.findall(r"\.(\d+)", name) for name in (names[0], names[-1]))
    ends = iter(f"[{a}]" if a == b else f"[{a}–{b}]" for a, b in zip(first, last, strict=True))
    return re.sub(r"\.\d+", lambda _: next(ends), names[0])
