"""Model sizes at which different models have about the same number of parameters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig, with_settings
from explorer.training.model_factory import count_parameters


def match_parameters(config: RunConfig, target: int) -> RunConfig:
    """Return the configuration with other sizes, so that it has about `target` parameters.

    The number of hidden units is chosen; for a Transformer first the width, with four times as many hidden units. The
    size of an n-gram follows from its text and stays.

    Raises InvalidSetting if no size comes within a tenth.
    """
    if config.model_name == "ngram":
        return config
    base = config
    if config.model_name == "transformer":
        unit = 2 * getattr(config.model, "heads", 1)  # rotary positions need an even width for each head
        base = _nearest_size(
            lambda size: with_settings(config, {"width": size * unit, "hidden": 4 * size * unit}), 512 // unit, target
        )
    best = _nearest_size(lambda size: with_settings(base, {"hidden": size}), 1_024, target)
    if abs(count_parameters(best) - target) > target / 10:
        raise InvalidSetting(
            f"{config.title} cannot have about {target:,} parameters; the nearest is {count_parameters(best):,}. "
            "Choose another number."
        )
    return best


def _nearest_size(resize: Callable[[int], RunConfig], largest: int, target: int) -> RunConfig:
    """Return the size from 1 to `largest` with the nearest number of parameters, which grows with the size."""
    sizes = range(1, largest + 1)
    found = bisect_left(sizes, target, hi=largest - 1, key=lambda size: count_parameters(resize(size)))
    candidates = (resize(size) for size in sizes[max(0, found - 1) : found + 1])
    return min(candidates, key=lambda candidate: abs(count_parameters(candidate) - target))
