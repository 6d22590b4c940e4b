"""A model with some of its settings chosen, as pages compare it with others. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModelVariant:
    """One model of a comparison: its settings, and how it is called and drawn."""

    name: str  # in URLs and in the names of shipped runs
    title: str
    words: str  # the title in the middle of a sentence
    label: str  # at the end of its curve
    dash: str  # of its curve: "solid", or lengths of dashes and gaps
    settings: Mapping[str, object] = field(hash=False)
