"""What a leak looks like, in sentences made from losses and from what models write."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.tasks.noise import NoiseConfig
from explorer.tasks.tale import LETTERS, WORDS, TaleConfig
from explorer.ui.findings import seeds

NEAR = 0.05  # nats that a loss on so few fresh rows may lie beside its floor
BOUND = "the least possible for anyone who sees only the past"


@dataclass(frozen=True)
class Reading:
    """What two models were asked to name, and what that costs in nats."""

    sign: str  # what stands at a place
    floor: float  # the least for anyone who sees only the past, on average
    least: str  # the same, written at a line
    limit: str  # and in a sentence
    guessing: float  # what an even guess among all signs costs


def reading(task: TaleConfig | NoiseConfig) -> Reading:
    """Of noise an even guess is the best there is; of a tale its grammar says what is."""
    guess = math.log(len(task.labels))
    if isinstance(task, TaleConfig):
        return Reading("letter", task.floor, f"floor {task.floor:.2f}", f"{task.floor:.2f}, {BOUND}", guess)
    named = f"ln {task.symbols} = {guess:.2f}"
    return Reading("symbol", guess, named, named, guess)


@dataclass(frozen=True, eq=False)
class Leaked:
    """How a model ended: when it reads a row at once, and when it is fed as in generation."""

    loss: Float[ndarray, " replicas"]
    prefix: Float[ndarray, " replicas"]
    by_place: Float[ndarray, "replicas places"] | None  # read at once


def verdict(task: Reading, causal: Leaked | None, without: Leaked | None) -> str:
    """Whether a loss went below what is possible, and how the other one ended."""
    parts = []
    if without is not None:
        end = float(without.loss.mean())
        if end < task.floor - NEAR:
            parts.append(
                f"Without the mask the loss falls to {end:.2f} nats a {task.sign}, below {task.limit}: that is not "
                "learning but a leak."
            )
        else:
            parts.append(
                f"Without the mask the loss ends at {end:.2f} nats a {task.sign}, not below {task.limit}: nothing "
                "leaked yet."
            )
    if causal is not None:
        end, limit = float(causal.loss.mean()), "it" if parts else task.limit
        if end < task.floor - NEAR:
            parts.append(f"With the mask it ends at {end:.2f}, below {limit} too: here is another leak.")
        elif end > task.floor + NEAR:
            parts.append(f"With the mask it ends at {end:.2f}, above {limit}.")
        else:
            parts.append(f"With the mask it stays at {end:.2f}{'' if parts else f', the floor {limit}'}.")
    return " ".join(parts)


def generation(task: Reading, without: Leaked) -> str:
    """What the same model loses where nothing is there to leak."""
    lost = float(without.prefix.mean())
    first = f"Fed as in generation, with nothing to its right, the model without the mask loses {lost:.2f} nats"
    if lost > task.guessing + NEAR:
        return f"{first}: {lost / task.guessing:.1f} times as much as guessing evenly, which costs {task.guessing:.2f}."
    return f"{first}; guessing evenly costs {task.guessing:.2f}."


def places(task: Reading, without: Leaked) -> str:
    """Where in the row it reads off what it is asked."""
    if without.by_place is None:
        return ""
    values = without.by_place.mean(axis=0)
    before, last = values[:-1], float(values[-1])
    if before.max() > task.floor / 2 or last < task.floor - NEAR:
        return f"By place its loss lies between {values.min():.2f} and {values.max():.2f} nats."
    blind = ", no better than guessing" if last > task.guessing - NEAR else ""
    share = last / len(values)
    alone = (
        f" That place alone makes most of the mean: {last:.2f} / {len(values)} = {share:.2f}."
        if share > values.mean() / 2
        else ""
    )
    return (
        f"At places 1 to {len(before)} the answer stands one place to the right, and it loses at most "
        f"{before.max():.2f} nats. At place {len(values)} nothing stands there: {last:.2f}{blind}.{alone}"
    )


# ---- what they write


def repeated(ids: Int[ndarray, "replicas rows time"], first: int) -> Float[ndarray, " replicas"]:
    """The share of written symbols that are the one before once more."""
    same = ids[..., first:] == ids[..., first - 1 : -1]
    share: ndarray = same.mean(axis=(1, 2))
    return share


def writing(
    symbols: int, title: str, ids: Int[ndarray, "replicas rows time"], first: int, surest: Float[ndarray, "replicas n"]
) -> str:
    """What a model writes: how sure it is, and how often it only says once more what it said."""
    share, sure = float(repeated(ids, first).mean()), float(surest.mean())
    often = "as often as chance" if abs(share - 1 / symbols) < 0.02 else f"by chance it would be {1 / symbols:.0%}"
    return (
        f"{title}: {share:.0%} of what it writes is the symbol before once more ({often}); it gives its first choice "
        f"{sure:.2f} on average ({seeds(len(ids))})."
    )


def rows(ids: Int[ndarray, "rows time"], first: int, letters: Sequence[str]) -> str:
    """Rows as text: what was given, and what was written."""
    spelled = texts(ids, letters)
    return "\n".join(f"{row[:first]} → {row[first:]}" for row in spelled)


def texts(ids: Int[ndarray, "rows time"], letters: Sequence[str]) -> list[str]:
    """Rows of ids as text."""
    return ["".join(letters[i] for i in row) for row in np.asarray(ids)]


def in_words(text: str, first: int) -> tuple[int, int]:
    """Of the letters behind the first ones, how many stand in words of the language, and how many there are. A word
    that was gone on with counts as a whole; one that the end cuts off is right where it may become one."""
    right = every = 0
    for found in re.finditer("[a-z]+", text):
        written = found.end() - max(found.start(), first)
        if written > 0:
            cut = found.end() == len(text)
            known = any(word.startswith(found[0]) for word in WORDS) if cut else found[0] in WORDS
            every += written
            right += written * known
    return right, every


def share_in_words(ids: Int[ndarray, "replicas rows time"], first: int) -> float:
    """The share of all written letters that stand in words of the language; 0 where there is none."""
    counts = np.array([in_words(text, first) for seed in ids for text in texts(seed, LETTERS)]).sum(axis=0)
    return float(counts[0] / max(counts[1], 1))


def spelling(title: str, ids: Int[ndarray, "replicas rows time"], first: int) -> str:
    """How much of what a model writes is made of words of the language."""
    return f"{title}: {share_in_words(ids, first):.0%} of its letters stand in words of the language."
