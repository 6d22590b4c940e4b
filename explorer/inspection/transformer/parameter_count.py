"""Parameters of each part of a model, counted from the model itself, with a formula for each.

The formulas are derived from the model as well: it is built again with sizes whose values identify them, so that each
axis of a shape shows which sizes it consists of.
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
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, with_settings
from explorer.training.objective import objective_class

Polynomial: TypeAlias = Mapping[tuple[str, ...], int]  # coefficients by product of letters; () is the constant
# The letter of each size, and a value that identifies it: no multiple, sum or product of these equals another.
SIZE_SYMBOLS: Final = {"width": ("d", 46), "hidden": ("m", 31), "window": ("w", 29), "places": ("p", 139)}
VOCABULARY: Final = ("V", 53)
DEFAULT_VOCABULARY: Final = 65  # of a language model: the characters of Tiny Shakespeare
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class ParameterGroup:
    """The parameters of a layer with its bias; `count` is the total over all its copies."""

    name: str
    copies: int
    count: int
    polynomial: Polynomial  # of one copy

    @property
    def formula(self) -> str:
        """The formula as text, for example 4 × (d m + m)."""
        formula = " + ".join(_format_term(letters, factor) for letters, factor in self.polynomial.items())
        if self.copies == 1:
            return formula
        return f"{self.copies} × ({formula})" if len(self.polynomial) > 1 else f"{self.copies} × {formula}"


@dataclass(frozen=True)
class ParameterCount:
    """The parameters of a model, group by group."""

    groups: tuple[ParameterGroup, ...]
    sizes: Mapping[str, int]  # of the letters in its formulas

    @property
    def total(self) -> int:
        return sum(group.count for group in self.groups)


def count_parameter_groups(config: RunConfig, vocabulary: int = DEFAULT_VOCABULARY) -> ParameterCount:
    """Count the parameters of a model by layer. Raises InvalidSetting for an incompatible combination of sizes."""
    fields_of_model = {f.name for f in fields(config.model)}
    symbols = {name: symbol for name, symbol in SIZE_SYMBOLS.items() if name in fields_of_model}
    probe: dict[str, object] = {f"model.{name}": value for name, (_, value) in symbols.items()}
    if "heads" in fields_of_model:
        probe["model.heads"] = 1  # divides every width
    letters = {letter: value for letter, value in symbols.values()}
    sizes = {letter: int(getattr(config.model, name)) for name, (letter, _) in symbols.items()}
    if isinstance(config.task, TextConfig):
        letters[VOCABULARY[0]] = VOCABULARY[1]
        sizes[VOCABULARY[0]] = vocabulary
    probe_shapes = dict(_shapes(with_settings(config, probe), VOCABULARY[1]))
    groups: dict[tuple[str, tuple[tuple[tuple[str, ...], int], ...]], tuple[list[str], int]] = {}
    for layer, shapes in _shapes_by_layer(_shapes(config, vocabulary)).items():
        terms: Counter[tuple[str, ...]] = Counter()
        for name, _ in shapes:
            terms.update(_shape_polynomial(probe_shapes[name], letters))
        key = re.sub(r"\.\d+", ".*", layer), tuple(terms.items())
        names, count = groups.get(key, ([], 0))
        groups[key] = [*names, layer], count + sum(math.prod(shape) for _, shape in shapes)
    parts = (
        ParameterGroup(_format_layer_name(names), len(names), count, dict(terms))
        for (_, terms), (names, count) in groups.items()
    )
    return ParameterCount(tuple(parts), sizes)


def _shapes(config: RunConfig, vocabulary: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of every parameter."""
    vocabulary_size = vocabulary if isinstance(config.task, TextConfig) else None
    model = objective_class(config.task).build_model(config, generator(config.seed, "start"), vocabulary_size)
    for name, value in model.named_parameters():
        yield name, tuple(value.shape)


def _shapes_by_layer(shapes: Iterator[tuple[str, tuple[int, ...]]]) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Group names and shapes by layer: weights with their biases."""
    by_layer: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for name, shape in shapes:
        by_layer.setdefault(re.sub(r"\.(weight|bias)$", "", name), []).append((name, shape))
    return by_layer


def _shape_polynomial(shape: tuple[int, ...], letters: Mapping[str, int]) -> Polynomial:
    """Return the size of a shape as a polynomial in the letters."""
    product: Polynomial = {(): 1}
    for size in shape:
        factor = _axis_polynomial(size, letters)
        product = {
            tuple(sorted((*a, *b))): product[a] * factor[b]  # no two of these products are alike
            for a in product
            for b in factor
        }
    return product


def _axis_polynomial(size: int, letters: Mapping[str, int]) -> Polynomial:
    """Return one axis as a polynomial: a multiple of a letter, a product or sum of two, or a constant of the task."""
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


def _format_term(letters: tuple[str, ...], factor: int) -> str:
    factors = [
        letter if count == 1 else f"{letter}{count}".translate(_SUPERSCRIPTS)
        for letter, count in sorted(Counter(letters).items())
    ]
    return " ".join([f"{factor:,}"] * (factor > 1 or not factors) + factors)


def _format_layer_name(names: list[str]) -> str:
    """Join layer names: blocks.0.expand and blocks.1.expand become blocks[0–1].expand."""
    first, last = (re.findall(r"\.(\d+)", name) for name in (names[0], names[-1]))
    ends = iter(f"[{a}]" if a == b else f"[{a}–{b}]" for a, b in zip(first, last, strict=True))
    return re.sub(r"\.\d+", lambda _: next(ends), names[0])
