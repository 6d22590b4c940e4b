"""What the sentence encoder shows, in sentences made from numbers."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import number, seeds

CHANCE = 0.5  # of two senses
APART, ALIKE = 0.1, 0.03  # from where on two cosines are different, and up to where they are the same
Cosines = Float[ndarray, "replicas layers"]


def verdict(same: Cosines, other: Cosines) -> str:
    """What the layers do to a homograph: its likeness to itself in the same sense and in the other one."""
    layers, replicas = same.shape[1] - 1, same.shape[0]
    first, begun, last, ended = (float(v[:, i].mean()) for i in (0, -1) for v in (same, other))
    after = f"After {number(layers)} layer{'s' if layers > 1 else ''}"
    numbers = f"{last:.2f} where the sense is the same, {ended:.2f} where it is the other one"
    if last - ended < APART:
        return f"{after} a word with two senses is still one vector: likeness {numbers} (mean of {seeds(replicas)})."
    start = (
        f"Before attention every “bank” is one vector, whichever its sense (likeness {first:.2f} and {begun:.2f})."
        if abs(first - begun) < ALIKE
        else f"Before attention the likeness is {first:.2f} and {begun:.2f}."
    )
    worst = float((same - other)[:, -1].min())
    every = " In every seed the senses part." if worst > APART else " Not in every seed do the senses part."
    return f"{start} {after} it is {numbers} (mean of {seeds(replicas)}).{every}"


def controls(untrained: tuple[Any, Any], alone: tuple[Any, Any]) -> str:
    """Whether it is training that does it, and whether it is attention. Of each the likeness (replicas by layers) in
    the same sense and in the other one; the controls may have other numbers of layers."""
    gaps = [float((same - other)[:, -1].mean()) for same, other in (untrained, alone)]
    names = ("before training", "without attention")
    apart = [name for name, gap in zip(names, gaps, strict=True) if gap >= APART]
    told = ", ".join(
        f"{float(o[:, -1].mean()):.2f} {name}" for name, (_, o) in zip(names, (untrained, alone), strict=True)
    )
    if not apart:
        return f"It takes both, training and attention: to the other sense the likeness stays {told}."
    return f"The senses part also {' and '.join(apart)}: to the other sense the likeness is {told}."


def neighbours(trained: Cosines, untrained: Cosines) -> str:
    """A proof that is often shown and is none: how often the nearest occurrence of the word has the same sense."""
    before, after = float(untrained[:, -1].mean()), float(trained[:, -1].mean())
    if before > CHANCE + APART:
        return (
            "Beware of the nearest neighbour, which is often shown as a proof. The occurrence of a word that lies "
            f"nearest has the right sense {after:.2f} of the time; but before training it has it {before:.2f} of the "
            "time already, because an untrained block mixes the other words in, and those with the same nouns come to "
            "lie together."
        )
    return (
        f"The occurrence of a word that lies nearest has the right sense {after:.2f} of the time, and {before:.2f} "
        "before training."
    )


def of_gloss(right: Float[ndarray, " replicas"], new: Float[ndarray, " replicas"], blind: float | None) -> str:
    """How often the right sense is said, and how often beside new cues."""
    without = "" if blind is None else f" Without attention it is {blind:.2f}, about what a coin would say."
    limit = (
        f" Beside nouns that never stood next to a homograph in training it falls to {_range(new)}: what nobody showed "
        "it, it cannot know."
        if float(new.mean()) < float(right.mean()) - APART
        else f" Beside nouns that never stood next to a homograph in training it is {_range(new)}."
    )
    return f"On fresh sentences the sense is right {_range(right)} of the time.{without if _coin(blind) else ''}{limit}"


def of_gist(right: Float[ndarray, " replicas"], new: Float[ndarray, " replicas"], blind: float | None) -> str:
    """How often a homograph lies nearer to the right synonym, and how often beside new cues."""
    without = f" Without attention {blind:.2f} do, about as many as by chance." if _coin(blind) else ""
    kept = (
        "these it knows, because they stood beside synonyms and beside each other."
        if float(new.mean()) > CHANCE + APART
        else "these do not help."
    )
    return (
        f"Nobody told it what a homograph means; yet {_range(right)} of them lie nearer to the synonym of their sense "
        f"than to that of the other one.{without} Beside nouns that never stood next to a homograph it is "
        f"{_range(new)}: {kept}"
    )


def _coin(share: float | None) -> bool:
    return share is not None and abs(share - CHANCE) < APART


def _range(values: Float[ndarray, " replicas"]) -> str:
    mean, low, high = float(values.mean()), float(values.min()), float(values.max())
    return f"{mean:.2f} ({low:.2f} to {high:.2f})" if len(values) > 1 else f"{mean:.2f}"


def sense_said(gloss: bool, topic: str, synonym: str, amount: float) -> str:
    """What a homograph is taken for: on gloss a sense with its probability, on gist a synonym with its cosine."""
    return f"{topic} {amount:.2f}" if gloss else f"{synonym} {amount:.2f}".replace("-", "−")
