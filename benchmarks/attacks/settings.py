"""Configurations of large sizes: each setting is one that its own limit allows."""

from __future__ import annotations

import dataclasses
import random
import typing

from explorer.errors import LineageError
from explorer.training.config import RunConfig, with_settings

_SMALL = ("seed", "order", "data_seed", "corpus_seed", "split_seed", "threads", "test_size")  # no cost depends on them


def size_limits(config: RunConfig) -> dict[str, tuple[int, int]]:
    """Return the smallest and largest value of every whole number of a configuration that its cost depends on."""
    limits = {}
    for section, part in (("", config), ("task.", config.task), ("model.", config.model)):
        hints = typing.get_type_hints(type(part))
        for each in dataclasses.fields(part):
            high = each.metadata.get("high")
            if hints[each.name] is int and high is not None and each.name not in _SMALL:
                limits[section + each.name] = int(each.metadata["low"]), int(high)
    counted = "iterations" if config.iterations == 0 else "epochs"
    del limits[counted]  # the task is counted in the other one
    return limits


def random_sizes(config: RunConfig, chance: random.Random, share: float = 0.5) -> RunConfig:
    """Return the configuration with about `share` of its sizes drawn anew, large ones as often as small ones."""
    limits = size_limits(config)
    while True:
        changed = {}
        for name, (low, high) in limits.items():
            if chance.random() < share:
                powers = [2**i for i in range(high.bit_length()) if low <= 2**i <= high]
                changed[name] = chance.choice([*powers[-3:], chance.choice(powers or [high]), high])
        try:
            return with_settings(config, changed)
        except LineageError:  # two settings that do not fit together, as heads that do not divide the width
            continue
