"""The same budget for different models: sizes at which each has about so many parameters."""

from __future__ import annotations

from collections.abc import Callable

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig, changed
from explorer.training.estimate import parameters


def matched(config: RunConfig, wanted: int) -> RunConfig:
    """The configuration with other sizes, so that it has about so many parameters: hidden units; of a Transformer
    first the width, with four times as many hidden units. An n-gram has what its text gives.

    Raises InvalidSetting where no size comes within a tenth.
    """
    if config.model_name == "ngram":
        return config
    best = config
    if config.model_name == "transformer":
        step = 2 * getattr(config.model, "heads", 1)  # rotary positions need an even width for each head
        best = _nearest(
            lambda units: changed(config, {"width": units * step, "hidden": 4 * units * step}), 512 // step, wanted
        )
    sized = best
    best = _nearest(lambda units: changed(sized, {"hidden": units}), 1_024, wanted)
    if abs(parameters(best) - wanted) > wanted / 10:
        raise InvalidSetting(
            f"{config.title} cannot have about {wanted:,} parameters; the nearest is {parameters(best):,}. "
            "Choose another number."
        )
    return best


def _nearest(sized: Callable[[int], RunConfig], most: int, wanted: int) -> RunConfig:
    """Of the sizes 1 to `most` the one with the nearest count, which grows with the size."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if parameters(sized(middle)) < wanted else (low, middle)
    return min((sized(units) for units in {max(1, low - 1), low}), key=lambda one: abs(parameters(one) - wanted))
