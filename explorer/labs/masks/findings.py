"""Sentences on training without a causal mask, made from losses and from generated text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.tasks.sequence_labelling.grammar_text import LETTERS, WORDS, GrammarTextConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.ui.wording import count_seeds

TOLERANCE = 0.05  # nats: sampling error of a loss on few fresh rows
LOWER_BOUND = "the least possible for anyone who sees only the past"


@dataclass(frozen=True)
class LossBaseline:
    """The losses (nats) that a task allows without looking ahead."""

    unit: str  # what one token is called
    floor: float  # the lowest possible mean loss without looking ahead
    floor_label: str  # label of the line in a chart
    floor_text: str  # the floor in a sentence
    uniform_loss: float  # of an even guess among all tokens


def loss_baseline(task: GrammarTextConfig | RandomSymbolsConfig) -> LossBaseline:
    """Return the baseline of a task: the entropy of its grammar, or an even guess for random symbols."""
    uniform_loss = math.log(len(task.labels))
    if isinstance(task, GrammarTextConfig):
        return LossBaseline(
            "letter",
            task.loss_floor,
            f"floor {task.loss_floor:.2f}",
            f"{task.loss_floor:.2f}, {LOWER_BOUND}",
            uniform_loss,
        )
    floor_text = f"ln {task.symbols} = {uniform_loss:.2f}"
    return LossBaseline("symbol", uniform_loss, floor_text, floor_text, uniform_loss)


@dataclass(frozen=True, eq=False)
class FinalLosses:
    """Losses at the end of a training: on whole rows read at once, and on prefixes as in generation."""

    loss: Float[ndarray, " replicas"]
    prefix_loss: Float[ndarray, " replicas"]
    by_position: Float[ndarray, "replicas positions"] | None  # on whole rows


def leak_verdict(baseline: LossBaseline, causal: FinalLosses | None, unmasked: FinalLosses | None) -> str:
    """Say whether the loss without the mask fell below the entropy floor, and where the masked model ended."""
    parts = []
    if unmasked is not None:
        end = float(unmasked.loss.mean())
        if end < baseline.floor - TOLERANCE:
            parts.append(
                f"Without the mask the loss falls to {end:.2f} nats a {baseline.unit}, below {baseline.floor_text}: "
                "that is not "
                "learning but a leak."
            )
        else:
            parts.append(
                f"Without the mask the loss ends at {end:.2f} nats a {baseline.unit}, not below "
                f"{baseline.floor_text}: this loss "
                "shows no leak."
            )
    if causal is not None:
        end, limit = float(causal.loss.mean()), "it" if parts else baseline.floor_text
        if end < baseline.floor - TOLERANCE:
            parts.append(f"With the mask it ends at {end:.2f}, below {limit} too: here is another leak.")
        elif end > baseline.floor + TOLERANCE:
            parts.append(f"With the mask it ends at {end:.2f}, above {limit}.")
        else:
            parts.append(f"With the mask it stays at {end:.2f}{'' if parts else f', the floor {limit}'}.")
    return " ".join(parts)


def generation_finding(baseline: LossBaseline, unmasked: FinalLosses) -> str:
    """Say what the unmasked model loses on prefixes, where nothing can leak."""
    loss = float(unmasked.prefix_loss.mean())
    first = f"Fed as in generation, with nothing to its right, the model without the mask loses {loss:.2f} nats"
    if loss > baseline.uniform_loss + TOLERANCE:
        return (
            f"{first}: {loss / baseline.uniform_loss:.1f} times as much as guessing evenly, which costs "
            f"{baseline.uniform_loss:.2f}."
        )
    return f"{first}; guessing evenly costs {baseline.uniform_loss:.2f}."


def position_finding(baseline: LossBaseline, unmasked: FinalLosses) -> str:
    """Say at which positions the unmasked model copies the answer from its right neighbour."""
    if unmasked.by_position is None:
        return ""
    values = unmasked.by_position.mean(axis=0)
    before, last = values[:-1], float(values[-1])
    if before.max() > baseline.floor / 2 or last < baseline.floor - TOLERANCE:
        return f"By place its loss lies between {values.min():.2f} and {values.max():.2f} nats."
    guessing = f", and guessing costs {baseline.uniform_loss:.2f}" if last > baseline.uniform_loss - TOLERANCE else ""
    share = last / len(values)
    mean_note = (
        f" That place alone makes most of the mean: {last:.2f} / {len(values)} = {share:.2f}."
        if share > values.mean() / 2
        else ""
    )
    return (
        f"At places 1 to {len(before)} the answer stands one place to the right, and it loses at most "
        f"{before.max():.2f} nats. At place {len(values)} nothing stands there: {last:.2f}{guessing}.{mean_note}"
    )


# ---- what they write


def repetition_rate(ids: Int[ndarray, "replicas rows time"], first: int) -> Float[ndarray, " replicas"]:
    """Return the share of generated symbols that repeat the symbol before."""
    same = ids[..., first:] == ids[..., first - 1 : -1]
    share: ndarray = same.mean(axis=(1, 2))
    return share


def repetition_finding(
    symbols: int,
    title: str,
    ids: Int[ndarray, "replicas rows time"],
    first: int,
    top_probability: Float[ndarray, "replicas n"],
) -> str:
    """Say how certain a model is while it generates, and how often it repeats the symbol before.

    symbols: size of the vocabulary; title: name of the model; first: index of the first generated symbol;
    top_probability: of the most likely symbol, per seed and step.
    """
    share, certainty = float(repetition_rate(ids, first).mean()), float(top_probability.mean())
    comparison = "as often as chance" if abs(share - 1 / symbols) < 0.02 else f"by chance it would be {1 / symbols:.0%}"
    return (
        f"{title}: {share:.0%} of what it writes is the symbol before once more ({comparison}); it gives its first "
        "choice "
        f"{certainty:.2f} on average ({count_seeds(len(ids))})."
    )


def format_rows(ids: Int[ndarray, "rows time"], first: int, letters: Sequence[str]) -> str:
    """Format rows as text: the prompt, an arrow, and what was generated."""
    texts = decode_rows(ids, letters)
    return "\n".join(f"{row[:first]} → {row[first:]}" for row in texts)


def decode_rows(ids: Int[ndarray, "rows time"], letters: Sequence[str]) -> list[str]:
    """Return rows of ids as text."""
    return ["".join(letters[i] for i in row) for row in np.asarray(ids)]


def count_letters_in_words(text: str, first: int) -> tuple[int, int]:
    """Count the letters after index `first` that stand in words of the language, and all letters.

    A word that the prompt began counts as a whole; a word cut off at the end counts if a word of the language starts
    with it.
    """
    in_words = letters = 0
    for match in re.finditer("[a-z]+", text):
        new_letters = match.end() - max(match.start(), first)
        if new_letters > 0:
            cut = match.end() == len(text)
            is_word = any(word.startswith(match[0]) for word in WORDS) if cut else match[0] in WORDS
            letters += new_letters
            in_words += new_letters * is_word
    return in_words, letters


def share_in_words(ids: Int[ndarray, "replicas rows time"], first: int) -> float:
    """Return the share of all generated letters that stand in words of the language; 0 without letters."""
    counts = np.array([count_letters_in_words(text, first) for seed in ids for text in decode_rows(seed, LETTERS)]).sum(
        axis=0
    )
    return float(counts[0] / max(counts[1], 1))


def spelling_finding(title: str, ids: Int[ndarray, "replicas rows time"], first: int) -> str:
    """Say how much of a generated text consists of words of the language."""
    return f"{title}: {share_in_words(ids, first):.0%} of its letters stand in words of the language."
