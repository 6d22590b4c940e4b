"""Sentences on training without a causal mask, made from losses and from generated text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.number_format import format_percent
from explorer.tasks.sequence_labelling.grammar_text import LETTERS, WORDS, GrammarTextConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.ui.wording import count_seeds, join_words

if TYPE_CHECKING:
    from explorer.inspection.transformer.unmasked_generation import GeneratedSigns

TOLERANCE = 0.05  # nats: sampling error of a loss on few fresh rows


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
        floor = f"{task.loss_floor:.2f}"
        return LossBaseline("letter", task.loss_floor, f"floor {floor}", floor, uniform_loss)
    floor = f"ln {task.symbols} = {uniform_loss:.2f}"
    return LossBaseline("symbol", uniform_loss, floor, floor, uniform_loss)


@dataclass(frozen=True, eq=False)
class FinalLosses:
    """Losses at the end of a training: on whole rows read at once, and on prefixes as in generation."""

    loss: Float[ndarray, " replicas"]
    prefix_loss: Float[ndarray, " replicas"]
    by_position: Float[ndarray, "replicas positions"] | None  # on whole rows


def leak_verdict(baseline: LossBaseline, causal: FinalLosses | None, unmasked: FinalLosses | None) -> str:
    """Say whether the loss without the mask fell below the entropy floor; without that model, where the other ended."""
    losses = unmasked or causal
    if losses is None:
        return ""
    end, with_or_without = _median(losses.loss), "With" if unmasked is None else "Without"
    sees = ", so the model sees the answer" if end < baseline.floor - TOLERANCE else ""
    return (
        f"{with_or_without} the mask the loss is {end:.2f} nats per {baseline.unit}; the lowest possible without "
        f"seeing the answer is {baseline.floor_text}{sees}."
    )


def generation_finding(baseline: LossBaseline, causal: FinalLosses | None, unmasked: FinalLosses) -> str:
    """State the losses of the models on prefixes, where nothing can leak. Each is the median over seeds."""
    loss = _median(unmasked.prefix_loss)
    worse = loss > baseline.uniform_loss + TOLERANCE
    copies = f", so that model is worse than guessing: it copies a {baseline.unit} that is not there" * worse
    masked = "" if causal is None else f" The model with the mask has {_median(causal.prefix_loss):.2f}."
    return (
        f"When it generates, a model reads only what is there already. The loss without the mask is then {loss:.2f} "
        f"nats per {baseline.unit} (median of {count_seeds(len(unmasked.prefix_loss))}).{masked} A uniform guess has "
        f"{baseline.uniform_loss:.2f}{copies}."
    )


def position_finding(baseline: LossBaseline, unmasked: FinalLosses) -> str:
    """Say at which positions the unmasked model copies the answer from its right neighbour. Medians over the seeds."""
    if unmasked.by_position is None:
        return ""
    values = np.median(unmasked.by_position, axis=0)
    before, last = values[:-1], float(values[-1])
    if before.max() > baseline.floor / 2 or last < baseline.floor - TOLERANCE:
        return f"By position, the loss without the mask lies between {values.min():.2f} and {values.max():.2f} nats."
    return (
        f"Without the mask, the answer of positions 1 to {len(before)} is the next input {baseline.unit}, and the loss "
        f"there is at most {before.max():.2f} nats. Position {len(values)} has no next {baseline.unit}: its loss is "
        f"{last:.2f} nats (medians over the seeds)."
    )


def _median(values: Float[ndarray, " replicas"]) -> float:
    return float(np.median(values))


# ---- generated text


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
    repeated = float((ids[..., first:] == ids[..., first - 1 : -1]).mean())
    return (
        f"{title}: {format_percent(repeated, 0)} of the generated symbols repeat the symbol before (by chance it would "
        f"be {format_percent(1 / symbols, 0)}). The most likely symbol has a mean probability of "
        f"{float(top_probability.mean()):.2f} ({count_seeds(len(ids))})."
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


def spelling_finding(generated: Mapping[str, GeneratedSigns]) -> str:
    """Say how much of the generated texts, by the title of the model, consists of words of the language."""
    shares = []
    for title, each in generated.items():
        texts = [text for seed in each.ids for text in decode_rows(seed, LETTERS)]
        in_words, letters = np.array([count_letters_in_words(text, each.prompt_length) for text in texts]).sum(axis=0)
        shares.append(f"{title[0].lower()}{title[1:]} {format_percent(float(in_words / max(letters, 1)), 0)}")
    return f"Letters in words of the language: {join_words(shares)}."
