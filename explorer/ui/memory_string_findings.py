"""What the smallest language model shows, said from its numbers; the string is text and never markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from explorer.tasks.strings import Context, Slip, ambiguous, floor
from explorer.ui.findings import listed, number, seeds

_NAMED = 3  # characters that a sentence names
_TERMS = 2  # that the formula writes out: a third does not fit on a phone


def named(char: str) -> str:
    """A character as a sentence has it: in quotation marks, or by its name where it cannot be seen."""
    if char == " ":
        return "space"
    if not char.isprintable() or char.isspace() or unicodedata.combining(char):
        return unicodedata.name(char, f"U+{ord(char):04X}").lower()
    return f"“{char}”"


def either(names: Sequence[str]) -> str:
    """a, b or c."""
    return "".join(names) if len(names) < 2 else ", ".join(names[:-1]) + " or " + names[-1]


def about(text: str) -> str:
    """How long a string is, and whether it ends where nobody sees it."""
    end = ", the last one a space" if text.endswith(" ") else ""
    return f"{len(text):,} character{'' if len(text) == 1 else 's'}, {len(set(text))} different{end}."


def worth(text: str) -> str:
    """What memory could save on this string: the whole floor, since the whole string so far leaves nothing open."""
    several = ambiguous(text)
    if len(set(text)) == 1:
        return f"Nothing can be wrong here: {named(text[0])} is the only character there is."
    if not several:
        return "Memory is worth nothing here: every character has one continuation, so seeing it is enough."
    which = [named(context.character) for context in several[:_NAMED]]
    what = f"it tells {either([f'which {name}' for name in which])} this is"
    if len(several) > _NAMED:
        what = f"it tells the places of {number(len(several))} characters apart, such as {listed(which)}"
    return f"Memory is worth {floor(text):.3f} nats here: {what}."


def ended(
    title: str,
    kept: Float[ndarray, " replicas"],
    cut: Float[ndarray, " replicas"],
    low: float,
) -> str:
    """Where the losses of the seeds ended, against the floor."""
    with_state = f"With its state the {title} ends at {_span(kept)} nats a character"
    if low == 0:
        return f"{with_state}, with the state cut at {_span(cut)}: on this string both can be right everywhere."
    still = ""
    if kept.mean() > 0.1 * low:
        still = ", still on its way: the state has to tell many places apart"
    above = float(cut.max()) - low
    where = "on the floor" if above < 5e-4 else f"{above:.3f} above the floor at most"
    return f"{with_state}{still}. With the state cut it ends at {_span(cut)}, {where}."


def _span(values: Float[ndarray, " replicas"]) -> str:
    low, high = (f"{value:.3f}" if value >= 0.001 else f"{value:.1g}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def learned(steps: Int[ndarray, " evaluations"], accuracy: Float[ndarray, "evaluations replicas"], count: int) -> str:
    """From which step on every next character is right to the end, seed by seed."""
    right = accuracy >= 1
    since = [_since(steps, right[:, seed]) for seed in range(right.shape[1])]
    known = [step for step in since if step is not None]
    what = f"all {count} next characters are right" if count > 1 else "the one next character is right"
    if not known:
        best = round(float(accuracy[-1].max()) * count)
        return f"After step {int(steps[-1])} at most {best} of {count} next characters are right."
    when = f"step {min(known)}" if min(known) == max(known) else f"a step between {min(known)} and {max(known)}"
    who = f"in {number(len(known))} of {seeds(len(since))} " if len(known) < len(since) else ""
    return f"With its state {what} {who}from {when} on."


def _since(steps: Int[ndarray, " evaluations"], right: Bool[ndarray, " evaluations"]) -> int | None:
    wrong = np.flatnonzero(~right)
    if not len(wrong):
        return int(steps[0])
    return None if wrong[-1] + 1 == len(steps) else int(steps[wrong[-1] + 1])


def slipped(characters: int, transitions: int, kept: Sequence[Sequence[Slip]], cut: Sequence[Sequence[Slip]]) -> str:
    """How often each seed slipped, with the state and without."""
    said = (
        f"In {characters} characters each of {seeds(len(kept))} slips {_times(kept)} with its state, "
        f"{_times(cut)} with the state cut."
    )
    places = [slip.at for found in kept for slip in found]
    if places and min(places) >= transitions:
        said += " With its state none slips before the string's own end; beyond it nothing was taught."
    return said


def _times(found: Sequence[Sequence[Slip]]) -> str:
    low, high = min(map(len, found)), max(map(len, found))
    if low == high:
        return {0: "never", 1: "once"}.get(low, f"{low} times")
    return "at most once" if high == 1 else f"{low} to {high} times"


def took(seconds: float, replicas: int) -> str:
    """How long the two trainings took."""
    return f"Both trained in {seconds:.2f} s for {seeds(replicas)}, when somebody first asked for this string."


def hint(slip: Slip, written: str, first: str) -> str:
    """Why a written character is a slip."""
    before = (first + written)[slip.at]
    after = slip.after if len(slip.after) <= 12 else "…" + slip.after[-12:]
    where = "elsewhere in the string it may" if slip.known else "nowhere in the string it does"
    return (
        f"After “{after}” comes {either([named(char) for char in slip.right])}, not {named(written[slip.at])}: "
        f"{where} follow {named(before)}."
    )


def formula(text: str) -> str:
    """The floor with this string's numbers, as LaTeX. It holds no character of the string."""
    several, count = ambiguous(text), len(text) - 1
    terms = [rf"\tfrac{{{c.count}}}{{{count}}} \cdot {c.entropy:.3f}" for c in several[:_TERMS]]
    if rest := sum(c.count * c.entropy for c in several[_TERMS:]) / count:
        terms.append(f"{rest:.3f}")
    numbers = rf"&= {' + '.join(terms)} \\ " if terms else ""
    return (
        r"\begin{aligned} \text{floor} &= \sum_c \frac{n(c)}{N}\, H(\text{next} \mid c) \\ "
        rf"{numbers}&= {floor(text):.3f} \end{{aligned}}"
    )


def entropy_words(context: Context) -> str:
    """How uncertain one character leaves the next, as a calculation."""
    parts = [f"{count}/{context.count}" for _, count in context.follow]
    if len(set(parts)) == 1:
        return f"ln {len(parts)} = {context.entropy:.3f}"
    return f"{context.entropy:.3f}"


def follows(context: Context) -> str:
    """What follows a character, with how often."""
    return listed([f"{named(char)} {number_of_times(count)}" for char, count in context.follow])


def number_of_times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{number(count)} times")
