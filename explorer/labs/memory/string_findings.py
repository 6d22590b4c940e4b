"""Findings about the character model of one string. The string is inserted as text, never as markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from explorer.number_format import format_units, join_range
from explorer.tasks.string import Context, GeneratedError, ambiguous_contexts, loss_floor
from explorer.ui.wording import count_seeds, join_words, number_word

_MAX_NAMED = 3  # characters that a sentence names
_MAX_TERMS = 2  # that the formula writes out: a third does not fit on a phone


def character_name(char: str) -> str:
    """Return a character in quotation marks, or its Unicode name if it cannot be seen."""
    if char == " ":
        return "space"
    if not char.isprintable() or char.isspace() or unicodedata.combining(char):
        return unicodedata.name(char, f"U+{ord(char):04X}").lower()
    return f"“{char}”"


def string_caption(text: str) -> str:
    """Return the length of a string, and whether it ends with a space."""
    end = ", the last one a space" if text.endswith(" ") else ""
    return f"{len(text):,} character{'' if len(text) == 1 else 's'}, {len(set(text))} different{end}."


def memory_finding(text: str) -> str:
    """Return the loss that memory can save: all of the floor, because the whole prefix determines the next
    character.
    """
    several = ambiguous_contexts(text)
    if len(set(text)) == 1:
        return f"No error is possible: {character_name(text[0])} is the only character."
    if not several:
        return "Memory saves nothing here: every character has one continuation, so the current character is enough."
    names = [character_name(context.character) for context in several[:_MAX_NAMED]]
    what = join_words(names)
    if len(several) > _MAX_NAMED:
        what = f"{number_word(len(several))} characters, such as {what},"
    verb = "has" if len(several) == 1 else "have"
    return f"Memory saves {loss_floor(text):.3f} nats per character here: {what} {verb} several continuations."


def final_loss_finding(
    title: str, with_state: Float[ndarray, " replicas"], without_state: Float[ndarray, " replicas"], low: float
) -> str:
    """Return the final losses of the seeds against the lowest loss without memory, in nats per character."""
    return (
        f"With its state the {title} ends at {_format_range(with_state)} nats per character, without it at "
        f"{_format_range(without_state)}. The lowest loss without memory is {low:.3f}."
    )


def _format_range(values: Float[ndarray, " replicas"]) -> str:
    low, high = (f"{value:.3f}" if value >= 0.001 else f"{value:.1g}" for value in (values.min(), values.max()))
    return join_range(low, high)


def solved_step_finding(
    steps: Int[ndarray, " evaluations"], accuracy: Float[ndarray, "evaluations replicas"], count: int
) -> str:
    """Return from which step on every next character is predicted correctly."""
    right = accuracy >= 1
    solved_steps = [_always_right_from(steps, right[:, seed]) for seed in range(right.shape[1])]
    finite = [step for step in solved_steps if step is not None]
    if not finite:
        best = round(float(accuracy[-1].max()) * count)
        return f"After step {int(steps[-1])} at most {best} of {count} next characters are right."
    when = join_range(f"{min(finite)}", f"{max(finite)}")
    seeds = f"in {len(finite)} of {len(solved_steps)} seeds"
    return f"With its state all {format_units(count, 'next character')} are right {seeds} from step {when} on."


def _always_right_from(steps: Int[ndarray, " evaluations"], right: Bool[ndarray, " evaluations"]) -> int | None:
    wrong = np.flatnonzero(~right)
    if not len(wrong):
        return int(steps[0])
    return None if wrong[-1] + 1 == len(steps) else int(steps[wrong[-1] + 1])


def error_count_caption(
    characters: int,
    transitions: int,
    with_state: Sequence[Sequence[GeneratedError]],
    without_state: Sequence[Sequence[GeneratedError]],
) -> str:
    """Return how many errors the seeds generate with the state and without."""
    sentence = (
        f"In {characters} characters, each of {count_seeds(len(with_state))} makes {_format_errors(with_state)} with "
        f"its state, {_format_errors(without_state)} without it."
    )
    positions = [error.position for errors in with_state for error in errors]
    if positions and min(positions) >= transitions:
        sentence += (
            " With its state, none makes an error before the end of the string; what follows was not in training."
        )
    return sentence


def _format_errors(found: Sequence[Sequence[GeneratedError]]) -> str:
    low, high = min(map(len, found)), max(map(len, found))
    if high == 0:
        return "no errors"
    return f"{join_range(str(low), str(high))} error{'' if high == 1 else 's'}"


def error_hint(error: GeneratedError, written: str, first: str) -> str:
    """Return why a generated character is an error."""
    before = (first + written)[error.position]
    after = error.context if len(error.context) <= 12 else "…" + error.context[-12:]
    right = " or ".join(map(character_name, error.expected))
    where = "elsewhere in the string it does" if error.pair_in_string else "nowhere in the string it does"
    return (
        f"After “{after}” comes {right}, not {character_name(written[error.position])}: "
        f"{where} follow {character_name(before)}."
    )


def floor_formula(text: str) -> str:
    """Return the loss floor with the numbers of this string, as LaTeX. It contains no character of the string."""
    several, count = ambiguous_contexts(text), len(text) - 1
    terms = [rf"\tfrac{{{c.count}}}{{{count}}} \cdot {c.entropy:.3f}" for c in several[:_MAX_TERMS]]
    if rest := sum(c.count * c.entropy for c in several[_MAX_TERMS:]) / count:
        terms.append(f"{rest:.3f}")
    numbers = rf"&= {' + '.join(terms)} \\ " if terms else ""
    return (
        r"\begin{aligned} \text{lowest loss} &= \sum_c \frac{n(c)}{N}\, H(\text{next} \mid c) \\ "
        rf"{numbers}&= {loss_floor(text):.3f} \end{{aligned}}"
    )


def entropy_words(context: Context) -> str:
    """Return the entropy of the next character after one character, as a calculation."""
    parts = [f"{count}/{context.count}" for _, count in context.continuations]
    if len(set(parts)) == 1:
        return f"ln {len(parts)} = {context.entropy:.3f}"
    return f"{context.entropy:.3f}"


def describe_successors(context: Context) -> str:
    """Return which characters follow a character, and how often."""
    times = {count: f"{number_word(count)} times" for _, count in context.continuations} | {1: "once", 2: "twice"}
    return join_words([f"{character_name(char)} {times[count]}" for char, count in context.continuations])
