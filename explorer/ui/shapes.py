"""What a visitor of the page on shapes of tasks has chosen; each field is a part of the address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Nets whose shared weights are looked at, as the memory lab calls them, and the runs of theirs that ship.
NETS = {name: f"recall-50-{name}" for name in ("rnn-usual", "lstm-chrono", "gru-chrono")}


@dataclass(frozen=True)
class Shapes:
    """What is looked at, section by section."""

    trained: bool = False  # the terms of the gradient after training; otherwise before it
    agreeing: Literal["verb", "pronoun"] = "verb"  # what the heads are asked about
