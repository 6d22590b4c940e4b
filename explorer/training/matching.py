"""The same budget for different models: sizes at which each has about so many parameters."""

from __future__ import annotations

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig, changed
from explorer.training.estimate import parameters


def matched(config: RunConfig, wanted: int) -> RunConfig:
    """The configuration with the one size changed that brings it nearest to so many parameters: the hidden units;
    of a Transformer its width, with four times as many hidden units. An n-gram has what its text gives.

    Raises InvalidSetting where no size comes within a fifth.
    """
    if config.model_name == "ngram":
        return config

    def sized(units: int) -> RunConfig:
        if config.model_name != "transformer":
            return changed(config, {"hidden": units})
        width = units * 2 * getattr(config.model, "heads", 1)  # rotary positions need an even width for each head
        return changed(config, {"width": width, "hidden": 4 * width})

    low, high = 1, 1_024 if config.model_name != "transformer" else 512 // (2 * getattr(config.model, "heads", 1))
    while low < high:  # the count grows with the size
        middle = (low + high) // 2
        low, high = (middle + 1, high) if parameters(sized(middle)) < wanted else (low, middle)
    best = min((sized(units) for units in {max(1, low - 1), low}), key=lambda c: abs(parameters(c) - wanted))
    if abs(parameters(best) - wanted) > wanted / 5:
        raise InvalidSetting(
            f"{config.title} cannot have about {wanted:,} parameters; the nearest is {parameters(best):,}. "
            "Choose another number."
        )
    return best
