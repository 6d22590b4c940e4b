"""Findings and formulas of the alignment viewer: which source tokens a model attends to while it decodes.

Attention weights have the axes (target, source); row i belongs to the token written at step i, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.number_format import format_percent, format_units
from explorer.tasks.seq2seq import dates
from explorer.tasks.seq2seq.config import EOS, TranslationConfig
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import ReverseConfig
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.ui.wording import capitalize, visible_whitespace

YEAR_TOKENS = 4  # tokens of a target that write the year: ISO 8601 begins with it
_MAX_TERMS = 3  # of the context that a formula writes out: more do not fit on a phone
# Bahdanau et al. 2015, equations 5 and 6
ADDITIVE_FORMULA = (
    r"\begin{aligned} e_{ij} &= v^\top \tanh(W s_{i-1} + U h_j) \\ "
    r"\alpha_{ij} &= \frac{\exp e_{ij}}{\sum_k \exp e_{ik}} \\ c_i &= \sum_j \alpha_{ij} h_j \end{aligned}"
)
# Vaswani et al. 2017, equation 1
SCALED_FORMULA = r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V"
# An encoder-decoder with one vector: Cho et al. 2014, appendix A.1
VECTOR_FORMULA = (
    r"\begin{aligned} c &= \tanh(V h_S) \\ s_i &= \mathrm{GRU}([y_{i-1};\, c],\, s_{i-1}) \\ "
    r"\text{logits}_i &= O\,[s_i;\, y_{i-1};\, c] \end{aligned}"
)


def target_positions(task: TranslationConfig, source: int, target: Sequence[str]) -> list[int]:
    """Return for each decoding step the source position of the digit that is right there, for reverse and copy.

    It does not depend on the digits that the model generates.
    """
    steps = min(source, sum(token != EOS for token in target))
    return [source - 1 - i if isinstance(task, ReverseConfig) else i for i in range(steps)]


def find_year(text: str) -> range | None:
    """Return the characters of the year in a date; None for a text that is no date. A year of two digits comes last."""
    text = " ".join(text.lower().split())
    if dates.parse_date(text).day is None:
        return None
    found = re.search(r"\d{4}", text)  # in no way of writing do four digits mean anything else
    return range(*found.span()) if found else range(len(text) - 2, len(text))


def head_scores(
    task: TranslationConfig, text: str, target: Sequence[str], weights: Float[ndarray, "layers heads target source"]
) -> Float[ndarray, "layers heads"] | None:
    """Return how well each head attends to what is right; None if nothing is.

    For reverse and copy, these are the steps in which its largest weight is on the right digit; for dates, its mean
    weight on the year while that is written. For pairs no alignment is known: its mean largest weight.
    """
    scores: ndarray
    if isinstance(task, PairsConfig):
        scores = weights.max(axis=-1).mean(axis=-1)
    elif isinstance(task, DatesConfig):
        if (year := find_year(text)) is None:
            return None
        scores = weights[..., :YEAR_TOKENS, year.start : year.stop].sum(axis=-1).mean(axis=-1)
    else:
        if not (positions := target_positions(task, weights.shape[-1], target)):
            return None
        scores = (weights[..., : len(positions), :].argmax(axis=-1) == np.array(positions)).sum(axis=-1)
    return scores


def best_head(
    task: TranslationConfig, text: str, target: Sequence[str], weights: Float[ndarray, "layers heads target source"]
) -> tuple[int, int]:
    """Return layer and head with the highest score; the first without scores."""
    scores = head_scores(task, text, target, weights)
    layer, head = divmod(0 if scores is None else int(scores.argmax()), weights.shape[1])
    return layer, head


def attention_finding(
    task: TranslationConfig,
    words: str,
    text: str,
    target: Sequence[str],
    weights: Float[ndarray, "layers heads target source"],
    selected_head: tuple[int, int],
) -> str:
    """Return where a model with attention attends while it decodes.

    task: its configuration.
    words: the model in words.
    text: the source.
    target: the generated tokens.
    weights: the attention over the source.
    selected_head: layer and head that are shown.
    """
    written = [token for token in target if token != EOS]
    year = find_year(text) if isinstance(task, DatesConfig) else None
    if isinstance(task, DatesConfig) and year is None:
        return f"{dates.parse_date(text).error} {capitalize(words)} writes “{''.join(written)}” anyway."
    if len(written) < (YEAR_TOKENS if year else 1):
        return f"{capitalize(words)} writes {'only ' + ''.join(written) if written else 'nothing'}."
    scores = head_scores(task, text, target, weights)
    assert scores is not None
    who = words if scores.size == 1 else f"{head_name(*selected_head)} of {words}"
    if year:
        typed = " ".join(text.lower().split())[year.start : year.stop]
        weight, uniform = (format_percent(share, 0) for share in (scores[selected_head], len(year) / weights.shape[-1]))
        return f"Writing the year, {who} puts {weight} of its attention on “{typed}” (uniform: {uniform})."
    if isinstance(task, PairsConfig):
        strongest = weights[selected_head][: len(written)].argmax(axis=-1)
        hits = sum(text[int(j)] == token for j, token in zip(strongest, written, strict=True))
        return f"In {hits} of {format_units(len(written), 'step')} {who} attends most to the character that it writes."
    steps = format_units(min(weights.shape[-1], len(written)), "step")
    return f"In {scores[selected_head]} of {steps} {who} attends most to the digit it has to write."


def head_comparison(
    task: TranslationConfig,
    text: str,
    target: Sequence[str],
    weights: Float[ndarray, "layers heads target source"],
    selected_head: tuple[int, int],
) -> str:
    """Return how the selected head compares with the best one; "" for a model with one head, or without a measure.

    The parameters are those of `attention_finding`.
    """
    count = weights.shape[0] * weights.shape[1]
    if count == 1 or head_scores(task, text, target, weights) is None:
        return ""
    best = best_head(task, text, target, weights)
    does = "has the largest weights" if isinstance(task, PairsConfig) else "does so most"
    return f"Of the {count} heads {'this one' if best == selected_head else head_name(*best)} {does}."


def vector_finding(words: str, tokens: int, width: int) -> str:
    """Return the finding about a model with a single vector."""
    return f"{capitalize(words)} writes all {tokens} tokens from the same {width} numbers."


def sensitivity_finding(source: Sequence[str], moved: Float[ndarray, " source"]) -> str:
    """Return at which position another symbol changes the vector most, and least if there are several."""
    most, least = int(moved.argmax()), int(moved.argmin())
    first = (
        f"Another symbol at position {most + 1}, instead of “{visible_whitespace(source[most])}”, changes the vector"
    )
    by = f"by {moved[most]:.2f} (Euclidean distance, mean over the other symbols)."
    if most == least:
        return f"{first} {by}"
    return (
        f"{first} most: {by} At position {least + 1}, instead of “{visible_whitespace(source[least])}”, it changes "
        f"least, by {moved[least]:.2f}."
    )


def output_finding(target: Sequence[str], right: Sequence[str] | None) -> str:
    """Return the generated target compared with the right one; both with <EOS>."""
    written = "".join(token for token in target if token != EOS)
    sentence = f"The model writes “{written}”" if written else "The model writes nothing"
    if EOS not in target:
        sentence += ", without an end"
    if right is None:
        return f"{sentence}. There is no right answer to compare."
    count = sum(a == b for a, b in zip(target, right, strict=False))
    if tuple(target) == tuple(right):
        return f"{sentence}, which is right."
    answer = "".join(token for token in right if token != EOS)
    return f"{sentence}: {count} of {len(right)} tokens are right, counting {EOS}. The right answer is “{answer}”."


def additive_example(step: int, energies: Float[ndarray, " source"], weights: Float[ndarray, " source"]) -> str:
    """Return additive attention with the numbers of one step, for its largest weight, as LaTeX."""
    i, j = step + 1, int(weights.argmax())
    order = np.argsort(-weights, kind="stable")[:_MAX_TERMS]
    terms = " + ".join(rf"{weights[k]:.2f}\, h_{{{k + 1}}}" for k in order)
    more = r" + \dots" if len(weights) > _MAX_TERMS else ""
    return (
        rf"\begin{{aligned}} e_{{{i},{j + 1}}} &= {energies[j]:.2f} \\ {_softmax(i, j, energies, weights)} \\ "
        rf"c_{{{i}}} &= {terms}{more} \end{{aligned}}"
    )


def scaled_example(
    row: int, width: int, scores: Float[ndarray, " answers"], weights: Float[ndarray, " answers"]
) -> str:
    """Return scaled dot-product attention with the numbers of one row, for its largest weight, as LaTeX.

    `width` is d_k; masked keys are not given.
    """
    i, j = row + 1, int(weights.argmax())
    return (
        rf"\begin{{aligned}} e_{{{i},{j + 1}}} &= \frac{{q_{{{i}}} \cdot k_{{{j + 1}}}}}{{\sqrt{{d_k}}}} = "
        rf"\frac{{{scores[j] * width**0.5:.2f}}}{{\sqrt{{{width}}}}} = {scores[j]:.2f} \\ "
        rf"{_softmax(i, j, scores, weights)} \end{{aligned}}"
    )


def _softmax(i: int, j: int, scores: ndarray, weights: ndarray) -> str:
    """Return one weight from differences of scores, so that no number overflows."""
    rest = float(np.exp(np.delete(scores, j).astype(float) - float(scores[j])).sum())
    name = rf"\alpha_{{{i},{j + 1}}}"
    return (
        rf"{name} &= \frac{{1}}{{1 + \sum_{{k \ne {j + 1}}} \exp(e_{{{i}k}} - e_{{{i},{j + 1}}})}} \\ "
        rf"&= \frac{{1}}{{1 + {rest:.3f}}} = {weights[j]:.2f}"
    )


def head_name(layer: int, number: int) -> str:
    """Return layer and head in words, counted from 1."""
    return f"layer {layer + 1}, head {number + 1}"
