"""What the alignment viewer says in words and formulas: where a model looks while it writes, from its own numbers.

Weights of a look have the axes (target, source); row i belongs to the token written at step i, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.tasks import dates
from explorer.tasks.dates import DatesConfig
from explorer.tasks.digits import ReverseConfig
from explorer.tasks.translation import EOS, TranslationConfig
from explorer.ui.findings import capital, visible

YEAR = 4  # tokens of a target that write the year: ISO 8601 begins with it
_TERMS = 3  # of the context that a formula writes out: more do not fit on a phone


def copied(task: TranslationConfig, source: int, target: Sequence[str]) -> list[int]:
    """The place in the source of the digit that each step has to write, as long as there is one. For reverse and copy.

    It is a matter of places alone: whether the digit that was written is right plays no part.
    """
    steps = min(source, sum(token != EOS for token in target))
    return [source - 1 - i if isinstance(task, ReverseConfig) else i for i in range(steps)]


def year_in(text: str) -> range | None:
    """Where the year stands in a date that was understood; None where no date was. Its two digits come last."""
    text = " ".join(text.lower().split())
    if dates.understood(text).day is None:
        return None
    found = re.search(r"\d{4}", text)  # in no way of writing do four digits mean anything else
    return range(*found.span()) if found else range(len(text) - 2, len(text))


def hits(weights: Float[ndarray, "*batch target source"], places: Sequence[int]) -> ndarray:
    """In how many steps the strongest weight is at the wanted place; `*batch` are layers and heads."""
    found: ndarray = (weights[..., : len(places), :].argmax(axis=-1) == np.asarray(places, dtype=int)).sum(axis=-1)
    return found


def share(weights: Float[ndarray, "*batch target source"], steps: int, part: range) -> ndarray:
    """The mean weight that rests on a part of the source during the first steps."""
    found: ndarray = weights[..., :steps, part.start : part.stop].sum(axis=-1).mean(axis=-1)
    return found


def best(
    task: TranslationConfig, text: str, target: Sequence[str], weights: Float[ndarray, "layers heads target source"]
) -> tuple[int, int]:
    """Layer and head of what looks most often at the digit to write, or most at the year; else the first."""
    if isinstance(task, DatesConfig):
        year = year_in(text)
        found = None if year is None else share(weights, YEAR, year)
    else:
        found = hits(weights, copied(task, weights.shape[-1], target))
    at = 0 if found is None else int(found.argmax())
    return at // weights.shape[1], at % weights.shape[1]


def looking(
    task: TranslationConfig,
    words: str,
    text: str,
    target: Sequence[str],
    weights: Float[ndarray, "layers heads target source"],
    opened: tuple[int, int],
) -> str:
    """Where a model with attention looks while it writes. `words` name it, `opened` is the head on the screen."""
    if isinstance(task, DatesConfig):
        return _dated(task, words, text, target, weights, opened)
    places = copied(task, weights.shape[-1], target)
    if not places:
        return f"{capital(words)} writes nothing here, so it has nothing to look for."
    found, of = hits(weights, places), f"of {_steps(len(places))}"
    if found.size == 1:
        return f"In {found.max()} {of} {words} looks most at the digit it has to write."
    here, most = found[opened], found.max()
    said = f"In {here} {of} {head(*opened)} of {words}, in its look at the source, is strongest at the digit to write"
    if here == most:
        return f"{said}; none of its {found.size} heads is more often."
    other = head(*best(task, text, target, weights))
    return f"{said}; {other}, the best of its {found.size}, in {most}."


def _dated(
    task: TranslationConfig,
    words: str,
    text: str,
    target: Sequence[str],
    weights: Float[ndarray, "layers heads target source"],
    opened: tuple[int, int],
) -> str:
    year = year_in(text)
    written = "".join(token for token in target if token != EOS)
    if year is None:
        return f"{dates.understood(text).why} {capital(words)} writes “{written}” all the same."
    if len(written) < YEAR:
        return f"{capital(words)} writes “{written}”, and so not even a year."
    found, even = share(weights, YEAR, year), len(year) / weights.shape[-1]
    typed = " ".join(text.lower().split())[year.start : year.stop]
    evenly = f"evenly spread it would be {even:.2f}"
    if found.size == 1:
        return f"While {words} writes the year, {found.max():.2f} of its weight is on “{typed}”; {evenly}."
    most = best(task, text, target, weights)
    said = f"While {words} writes the year, {head(*opened)} of its look at the source has {found[opened]:.2f} of its "
    if most == opened:
        return f"{said}weight on “{typed}”, the most of {found.size} heads; {evenly}."
    return f"{said}weight on “{typed}”; {head(*most)}, the one with most, {found[most]:.2f}; {evenly}."


def nothing_to_look_at(words: str, tokens: int, width: int) -> str:
    """The finding of a model with one vector."""
    return f"There is nothing to look back at: {words} writes all {tokens} tokens from the same {width} numbers."


def moving(source: Sequence[str], moved: Float[ndarray, " source"]) -> str:
    """Where another symbol moves the vector most, and least."""
    most, least = int(moved.argmax()), int(moved.argmin())
    if most == least:
        return f"Another symbol instead of “{visible(source[0])}” moves the vector by {moved[0]:.2f} on average."
    return (
        f"Another symbol at place {most + 1}, instead of “{visible(source[most])}”, moves the vector most: by "
        f"{moved[most]:.2f}, on average over the others. At place {least + 1}, instead of “{visible(source[least])}”, "
        f"by {moved[least]:.2f}, the least."
    )


def verdict(target: Sequence[str], right: Sequence[str] | None) -> str:
    """What was written, beside what is right; both with their <EOS>."""
    written = "".join(token for token in target if token != EOS)
    said = f"It writes “{written}”" if written else "It writes nothing"
    if EOS not in target:
        said += ", without an end"
    if right is None:
        return f"{said}. There is no right answer to compare."
    count = sum(a == b for a, b in zip(target, right, strict=False))
    if tuple(target) == tuple(right):
        return f"{said}, which is right."
    answer = "".join(token for token in right if token != EOS)
    return f"{said}: {count} of {len(right)} tokens are right, counting {EOS}. The right answer is “{answer}”."


def additive_formula() -> str:
    """Bahdanau et al. 2015, equations 5 and 6."""
    return (
        r"\begin{aligned} e_{ij} &= v^\top \tanh(W s_{i-1} + U h_j) \\ "
        r"\alpha_{ij} &= \frac{\exp e_{ij}}{\sum_k \exp e_{ik}} \\ c_i &= \sum_j \alpha_{ij} h_j \end{aligned}"
    )


def additive_worked(step: int, energies: Float[ndarray, " source"], weights: Float[ndarray, " source"]) -> str:
    """The same with the numbers of one step, for the strongest weight."""
    i, j = step + 1, int(weights.argmax())
    order = np.argsort(-weights, kind="stable")[:_TERMS]
    terms = " + ".join(rf"{weights[k]:.2f}\, h_{{{k + 1}}}" for k in order)
    more = r" + \dots" if len(weights) > _TERMS else ""
    return (
        rf"\begin{{aligned}} e_{{{i},{j + 1}}} &= {energies[j]:.2f} \\ {_softmax(i, j, energies, weights)} \\ "
        rf"c_{{{i}}} &= {terms}{more} \end{{aligned}}"
    )


def scaled_formula() -> str:
    """Vaswani et al. 2017, equation 1."""
    return r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V"


def scaled_worked(row: int, width: int, scores: Float[ndarray, " answers"], weights: Float[ndarray, " answers"]) -> str:
    """The same with the numbers of one row, for the strongest weight; `width` is d_k, and nothing masked is given."""
    i, j = row + 1, int(weights.argmax())
    return (
        rf"\begin{{aligned}} e_{{{i},{j + 1}}} &= \frac{{q_{{{i}}} \cdot k_{{{j + 1}}}}}{{\sqrt{{d_k}}}} = "
        rf"\frac{{{scores[j] * width**0.5:.2f}}}{{\sqrt{{{width}}}}} = {scores[j]:.2f} \\ "
        rf"{_softmax(i, j, scores, weights)} \end{{aligned}}"
    )


def _softmax(i: int, j: int, scores: ndarray, weights: ndarray) -> str:
    """One weight from the gaps between the scores: so no number is too large to be written."""
    rest = float(np.exp(np.delete(scores, j).astype(float) - float(scores[j])).sum())
    name = rf"\alpha_{{{i},{j + 1}}}"
    return (
        rf"{name} &= \frac{{1}}{{1 + \sum_{{k \ne {j + 1}}} \exp(e_{{{i}k}} - e_{{{i},{j + 1}}})}} \\ "
        rf"&= \frac{{1}}{{1 + {rest:.3f}}} = {weights[j]:.2f}"
    )


def vector_formula() -> str:
    """Cho et al. 2014, appendix A.1."""
    return (
        r"\begin{aligned} c &= \tanh(V h_S) \\ s_i &= \mathrm{GRU}([y_{i-1};\, c],\, s_{i-1}) \\ "
        r"\text{logits}_i &= O\,[s_i;\, y_{i-1};\, c] \end{aligned}"
    )


def head(layer: int, number: int) -> str:
    """A head in the middle of a sentence; both count from 1 there."""
    return f"layer {layer + 1}, head {number + 1}"


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
