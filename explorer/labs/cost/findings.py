"""Sentences on the cost of each part, made from measurements and formulas."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.inspection.compare import growth_exponent
from explorer.inspection.transformer.cost_formulas import crossover, scale_to_median
from explorer.labs.cost.state import CostState
from explorer.models.structure import ModelStructure
from explorer.number_format import (
    format_approximate,
    format_bytes,
    format_number,
    format_percent,
    format_range,
    format_rounded,
    join_range,
)
from explorer.ui.wording import capitalize, join_words, number_word

PART_NAMES: Final = {
    "attention": "attention",
    "fused": "fused attention",
    "feedforward": "feedforward",
    "rnn": "RNN",
    "gru": "GRU",
    "lstm": "LSTM",
}
FORMULAS: Final = {
    "attention": "4 T d² + 2 T² d",
    "fused": "4 T d² + 2 T² d",
    "feedforward": "8 T d²",
    "rnn": "2 T d²",
    "gru": "6 T d²",
    "lstm": "8 T d²",
}
FIT_FROM: Final = {"length": 128, "width": 64, "layers": 1}  # below, the overhead of a call dominates
NOISE_FACTOR: Final = 1.25  # ratio that may come from other work on the server


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Measurements of one part over the sizes of a sweep beside its formulas; NaN where it was not measured."""

    part: str
    x: Int[ndarray, " sizes"]
    forward: Float[ndarray, " sizes"]  # seconds
    forward_backward: Float[ndarray, " sizes"]
    bytes_kept: Float[ndarray, " sizes"]  # bytes
    multiplications: Float[ndarray, " sizes"]
    bytes_by_formula: Float[ndarray, " sizes"]

    def seconds(self, way: str) -> Float[ndarray, " sizes"]:
        """Return the measured seconds. `way`: "both" for forward and backward, otherwise the forward pass."""
        return self.forward_backward if way == "both" else self.forward

    def scaled_formula(self, way: str) -> Float[ndarray, " sizes"]:
        """Return the formula scaled to go through the middle measurement."""
        return scale_to_median(self.multiplications, self.seconds(way))

    def exponents(self, sweep: str, way: str) -> tuple[float, float, float]:
        """Return the exponents of growth with size: of seconds, of the formula, and of bytes."""
        lines = self.seconds(way), self.multiplications, self.bytes_kept
        time, formula, memory = (growth_exponent(self.x, line, FIT_FROM[sweep]) for line in lines)
        return time, formula, memory

    def last_measured(self) -> int:
        """Return the index of the last measured size."""
        return int(np.flatnonzero(np.isfinite(self.forward))[-1])

    def multiplications_per_nanosecond(self) -> float:
        """Return the multiplications per nanosecond of the forward pass at the last measured size."""
        index = self.last_measured()
        return float(self.multiplications[index] / self.forward[index] / 1e9)

    def ratio_to(self, other: SweepResult, way: str) -> tuple[int, float, float]:
        """Return the last size that both parts have, the ratio of seconds there, and the ratio by formula."""
        index = min(self.last_measured(), other.last_measured())
        own_seconds, other_seconds = self.seconds(way)[index], other.seconds(way)[index]
        return (
            int(self.x[index]),
            float(own_seconds / other_seconds),
            float(self.multiplications[index] / other.multiplications[index]),
        )


def length_finding(results: Mapping[str, SweepResult], state: CostState) -> str:
    """Return from which length attention takes longer than the feedforward part, and how much longer at the end."""
    return f"Attention takes longer than the feedforward part {_crossing(results, 'attention', state)}."


def _crossing(results: Mapping[str, SweepResult], part: str, state: CostState) -> str:
    """Return from which length on a part takes longer than the feedforward part, and how much longer at the end."""
    measured, forward = results[part], results["feedforward"]
    length = crossover(measured.x, measured.seconds(state.way), forward.seconds(state.way))
    end, ratio, _ = measured.ratio_to(forward, state.way)
    where = "at every length measured" if length == 0 else f"from about {length:,.0f} tokens on"
    if np.isinf(length):
        where = "at no length measured"
    return f"{where}; at {end:,} tokens {format_approximate(ratio)} times as long"


def fused_note(results: Mapping[str, SweepResult], state: CostState) -> str:
    """Return the crossing by formula, and what a fused kernel changes."""
    return (
        f"Attention needs more multiplications than the feedforward part from {2 * state.width:,} tokens on. Fused "
        "attention is the same computation in one kernel, which recomputes the weights instead of storing them: it "
        f"takes longer than the feedforward part {_crossing(results, 'fused', state)}."
    )


def width_finding(results: Mapping[str, SweepResult], state: CostState) -> str:
    """Say how close each part comes to growing with the square of the width."""
    powers = {part: each.exponents("width", state.way)[:2] for part, each in results.items()}
    flat, *_, steep = sorted(powers, key=lambda part: powers[part][0])
    predicted = [formula for _, formula in powers.values()]
    return (
        f"Time grows with the width to the power of {powers[flat][0]:.1f} ({PART_NAMES[flat]}) to "
        f"{powers[steep][0]:.1f} ({PART_NAMES[steep]}); the formulas predict {format_range(*_ends(predicted), 1)}."
    )


def _ends(values: Collection[float]) -> tuple[float, float]:
    return min(values), max(values)


def layers_finding(results: Mapping[str, SweepResult], state: CostState) -> str:
    """Say what a multiple of the layers costs."""
    most = int(next(iter(results.values())).x[-1])
    time, memory = (
        join_range(*map(format_approximate, _ends([float(values[-1] / values[0]) for values in of_parts])))
        for of_parts in zip(*((each.seconds(state.way), each.bytes_kept) for each in results.values()), strict=True)
    )
    times = capitalize(number_word(most))
    return f"{times} times the layers take {time} times as long and keep {memory} times the memory."


def source_caption(source_by_part: Mapping[str, str]) -> str:
    """Return where and when each part was measured."""
    if len(sources := set(source_by_part.values())) == 1:
        return f"Measured on {sources.pop()}."
    return f"Measured: {'; '.join(f'{PART_NAMES[part]} on {source}' for part, source in source_by_part.items())}."


def sweep_note(results: Mapping[str, SweepResult], state: CostState, sweep: str) -> str:
    """Explain where measurements and formulas differ."""
    if sweep == "length":
        return "\n\n".join((fused_note(results, state), recurrence_note(results, state), memory_note(results)))
    ratios = {
        part: float(each.seconds(state.way)[0] / each.scaled_formula(state.way)[0]) for part, each in results.items()
    }
    worst = max(ratios, key=lambda part: np.nan_to_num(ratios[part]))
    return (
        f"At the smallest size, {PART_NAMES[worst]} takes {format_approximate(ratios[worst])} times as long as its "
        "formula predicts, the most of all parts. The formulas do not count the fixed cost of a call."
    )


def recurrence_note(results: Mapping[str, SweepResult], state: CostState) -> str:
    """Say what a step of a recurrent layer costs beside the feedforward part."""
    gru = results["gru"]
    first, last = int(np.searchsorted(gru.x, FIT_FROM["length"])), gru.last_measured()
    end, measured, formula = gru.ratio_to(results["feedforward"], state.way)
    first_step, last_step = (1e6 * float(gru.seconds(state.way)[i]) / int(gru.x[i]) for i in (first, last))
    explanation = ", because it makes many small products one after the other" * (measured > NOISE_FACTOR * formula)
    return (
        f"A step of the GRU takes {first_step:.1f} microseconds in a sequence of {int(gru.x[first]):,} tokens and "
        f"{last_step:.1f} in one of {end:,}. The formula predicts {format_approximate(formula)} times the time of the "
        f"feedforward part; measured is {format_approximate(measured)} times{explanation}."
    )


def kernel_note(results: Mapping[str, SweepResult], state: CostState) -> str:
    """Return that an LSTM faster than the GRU is an effect of kernels, if it is one.

    Our models pass a whole sequence to PyTorch's LSTM in one call, which on most processors has a kernel of its own
    (oneDNN); there is none for the GRU.
    """
    end, measured, formula = results["gru"].ratio_to(results["lstm"], state.way)
    if measured <= NOISE_FACTOR * formula:
        return ""
    return (
        f"The GRU takes {format_approximate(measured)} times as long as the LSTM at {end:,} tokens, because PyTorch "
        "runs all steps of an LSTM in one call here."
    )


def memory_note(results: Mapping[str, SweepResult]) -> str:
    """Say how many bytes are stored beside those of the formula."""
    ratios = {part: float(np.nanmax(each.bytes_kept / each.bytes_by_formula)) for part, each in results.items()}
    parts = join_words([f"{format_number(ratio)} for {PART_NAMES[part]}" for part, ratio in ratios.items()])
    return (
        f"The stored bytes divided by those of the formula are at most {parts}. Above 1, the rest is working memory of "
        "PyTorch’s kernel, which the formula leaves out."
    )


# By how the name of a layer ends in the code, the longer endings first.
_LAYER_NAMES: Final = {
    "attention.project": "queries, keys and values",
    "attention_norm": "norm of the attention layer",
    "cross_norm": "norm of the cross-attention",
    "feedforward_norm": "norm of the feedforward layer",
    "final_norm": "last norm",
    "cross.query": "cross-attention, queries",
    "cross.key": "cross-attention, keys",
    "cross.value": "cross-attention, values",
    "cross.output": "cross-attention, output",
    "attention.query": "attention, queries",
    "attention.key": "attention, keys",
    "attention.value": "attention, values",
    "attention.output": "attention, output",
    "expand": "feedforward, in",
    "contract": "feedforward, out",
    "input": "input weights",
    "recurrent": "recurrent weights",
    "embedding": "token embeddings",
    "position": "position embeddings",
    "readout": "output layer",
}


def layer_name(name: str) -> str:
    """Return what a layer does, given its name in the code; that name if there is no description."""
    unindexed = re.sub(r"\[.*?\]", "", name)
    words = next(
        (words for end, words in _LAYER_NAMES.items() if unindexed == end or unindexed.endswith(f".{end}")), ""
    )
    stack = unindexed.partition(".")[0]
    return f"{stack}: {words}" if words and stack in ("encoder", "decoder") else words or name


def parameters_finding(title: str, parts: Sequence[tuple[str, int]], total: int) -> str:
    """Name the part with the most parameters, or several if they are equal. `parts`: names and counts."""
    most = max(count for _, count in parts)
    names = [f"“{name}”" for name, count in parts if count == most]
    has = "has" if len(names) == 1 else "each have"
    share = format_percent(most / total, 0)
    largest = f"The largest part{'s' * (len(names) > 1)}, {join_words(names)}, {has} {most:,} of them, {share}."
    return f"{title}: {total:,} parameters. {largest}"


FINDINGS: Final = {"length": length_finding, "width": width_finding, "layers": layers_finding}


# ---- a real model

_PART_TITLES: Final = {
    "embedding": "token embedding",
    "positions": "positions",
    "attention": "attention",
    "feedforward": "feedforward layers",
    "norms": "norms",
    "output": "output layer",
}


def part_title(part: str, model: ModelStructure) -> str:
    """Return what a part of a model is called; a model that gives vectors has a layer that pools them."""
    if part == "output" and not model.outcomes:
        return "pooling layer"
    return _PART_TITLES[part]


def real_parameters_finding(title: str, real: ModelStructure, own: ModelStructure) -> str:
    """Name the largest part of a real model, and its share in one that is trained here."""
    largest = max(real.parameters, key=lambda part: real.parameters[part])
    real_share, own_share = (format_percent(each.parameters.get(largest, 0) / each.total, 0) for each in (real, own))
    return (
        f"{title} has {real.total:,} parameters: {real_share} are in its {_PART_TITLES[largest]}, against {own_share} "
        f"of the {own.total:,} of the Transformer that is trained here."
    )


def multiplications_text(count: int) -> str:
    """Return a number of multiplications in millions, or in thousands below one million."""
    return f"{count / 1e6:,.1f} million" if count >= 1_000_000 else f"{count / 1e3:,.0f} thousand"


def memory_text(count: int) -> str:
    """Return the memory of keys and values; a model that reads the whole text at once keeps none."""
    if not count:
        return "none"
    return format_bytes(count) if count >= 1_000_000 else f"{count / 1e3:,.0f} kB"


def cost_caption(real: ModelStructure) -> str:
    """Explain the numbers of the table of costs."""
    what = "one token of the source and one of the target" if len(real.stacks) > 1 else "the last token of the context"
    kept = (
        "of all tokens, in 32 bits; with them, no earlier token is computed again"
        if any(stack.causal for stack in real.stacks)
        else "an encoder reads the whole text at once and keeps none"
    )
    return (
        f"Computed from the sizes. Multiplications: for {what}, by all weights but those of the embedding, and with "
        f"the other tokens in the attention. Keys and values: {kept}."
    )


def cache_finding(title: str, real: ModelStructure) -> str:
    """Say what grouped queries save; nothing for a model without them."""
    stack = real.stacks[-1]
    if stack.key_heads == stack.heads:
        return ""
    return (
        f"In {title}, {stack.heads} heads of queries share {stack.key_heads} heads of keys and values. If each head "
        f"had its own, the memory would be {format_rounded(stack.heads / stack.key_heads)} times as large."
    )
