"""What a leak looks like, in sentences made from losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.ui.findings import seeds

NEAR = 0.05  # nats that a loss on so few fresh rows may lie beside its floor


@dataclass(frozen=True, eq=False)
class Leaked:
    """How a model ended on noise: when it reads a row at once, and when it is fed as in generation."""

    loss: Float[ndarray, " replicas"]
    prefix: Float[ndarray, " replicas"]
    by_place: Float[ndarray, "replicas places"] | None  # read at once


def verdict(symbols: int, causal: Leaked | None, without: Leaked | None) -> str:
    """Whether a loss went below what is possible, and how the other one ended."""
    floor, parts = math.log(symbols), []
    named = f"ln {symbols} = {floor:.2f}"
    if without is not None:
        end = float(without.loss.mean())
        if end < floor - NEAR:
            parts.append(
                f"Without the mask the loss falls to {end:.2f} nats, below {named}: on random symbols that is not "
                "learning but a leak."
            )
        else:
            parts.append(f"Without the mask the loss ends at {end:.2f} nats, not below {named}: nothing leaked yet.")
    if causal is not None:
        end = float(causal.loss.mean())
        if end < floor - NEAR:
            parts.append(f"With the mask it ends at {end:.2f}, below {named} too: here is another leak.")
        elif end > floor + NEAR:
            parts.append(f"With the mask it ends at {end:.2f}, above {named}.")
        else:
            parts.append(f"With the mask it stays at {end:.2f}{'' if parts else f', the floor {named}'}.")
    return " ".join(parts)


def generation(symbols: int, without: Leaked) -> str:
    """What the same model loses where nothing is there to leak."""
    floor, lost = math.log(symbols), float(without.prefix.mean())
    first = f"Fed as in generation, with nothing to its right, the model without the mask loses {lost:.2f} nats"
    if lost > floor + NEAR:
        return f"{first}: {lost / floor:.1f} times as much as guessing."
    return f"{first}; guessing costs {floor:.2f}."


def places(symbols: int, without: Leaked) -> str:
    """Where in the row it reads off what it is asked."""
    if without.by_place is None:
        return ""
    values, floor = without.by_place.mean(axis=0), math.log(symbols)
    before, last = values[:-1], float(values[-1])
    if before.max() > floor / 2 or last < floor - NEAR:
        return f"By place its loss lies between {values.min():.2f} and {values.max():.2f} nats."
    return (
        f"At places 1 to {len(before)} the answer stands one place to the right, and it loses at most "
        f"{before.max():.2f} nats. At place {len(values)} nothing stands there: {last:.2f}, no better than guessing. "
        f"That place alone makes the mean: {last:.2f} / {len(values)} = {last / len(values):.2f}."
    )


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
    spelled = ["".join(letters[i] for i in row) for row in np.asarray(ids)]
    return "\n".join(f"{row[:first]} → {row[first:]}" for row in spelled)
