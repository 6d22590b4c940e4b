"""Tales: sentences of a small grammar, letter by letter, and at every place the question which letter comes next.

    the old king follows the owl near the river. the thief hears the silent giant.

Every choice of the grammar is drawn alone, so how much it leaves open is known: nobody who sees only what came before
can lose less than that in each letter, on average. A lower loss is a leak.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.labelling import PAD, NextConfig

VERSION = 1
LETTERS = "abcdefghijklmnopqrstuvwxyz ."


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


BEINGS = _words("king queen sailor child wolf owl miller baker soldier poet horse dragon widow shepherd giant thief")
KINDS = _words("old young brave small angry silent lonely clever")
DEEDS = _words("sees finds loves follows hears calls fears forgets greets leaves helps hides")
SIDES = _words("near behind under beside")
PLACES = _words("tower river garden bridge market forest castle mill")
WORDS = frozenset((*BEINGS, *KINDS, *DEEDS, *SIDES, *PLACES, "the"))


def sentence(draw: random.Random) -> str:
    """One sentence with its full stop and the space behind it."""
    where = f" {draw.choice(SIDES)} the {draw.choice(PLACES)}" if draw.random() < 0.5 else ""
    return f"{_somebody(draw)} {draw.choice(DEEDS)} {_somebody(draw)}{where}. "


def _somebody(draw: random.Random) -> str:
    kind = f"{draw.choice(KINDS)} " if draw.random() < 0.5 else ""
    return f"the {kind}{draw.choice(BEINGS)}"


def open_choices() -> float:
    """What the grammar leaves open in a sentence, in nats: the entropy of its choices, which are drawn alone."""
    somebody = math.log(2) + math.log(len(KINDS)) / 2 + math.log(len(BEINGS))
    where = math.log(2) + (math.log(len(SIDES)) + math.log(len(PLACES))) / 2
    return 2 * somebody + math.log(len(DEEDS)) + where


def letters_of_a_sentence() -> float:
    """How many letters a sentence has on average, with its spaces and its full stop."""
    somebody = len("the ") + (_mean(KINDS) + 1) / 2 + _mean(BEINGS)
    where = (len("  the ") + _mean(SIDES) + _mean(PLACES)) / 2
    return 2 * somebody + len("  ") + _mean(DEEDS) + where + len(". ")


def _mean(words: tuple[str, ...]) -> float:
    return sum(len(word) for word in words) / len(words)


@dataclass(frozen=True)
class TaleConfig(NextConfig):
    """How many letters stand in a row. A row is cut from the tale anywhere, also inside of a word."""

    length: int = setting(40, "Letters of a row that are asked for.", 2, 64)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*LETTERS, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(LETTERS)

    @property
    def floor(self) -> float:
        """What no loss falls below without knowing what comes, in nats a letter; a row that begins in the middle of a
        sentence leaves a little more open."""
        return open_choices() / letters_of_a_sentence()
