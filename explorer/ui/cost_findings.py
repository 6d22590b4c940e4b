"""Sentences about costs, made from what was measured and what formulas say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.inspection.cost import PARTS, crossing, scaled, slope
from explorer.ui.findings import capital, listed, number

if TYPE_CHECKING:
    from explorer.ui.cost import Cost

NAMES: Final = {
    "attention": "attention",
    "fused": "fused",
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
FROM: Final = {"length": 128, "width": 64, "layers": 1}  # below, what every call costs outweighs the rest
ALIKE: Final = 1.25  # times as much, which may be the other work on the server


@dataclass(frozen=True, eq=False)
class Swept:
    """One kind of part over the sizes of a sweep, and what its formulas say; NaN where it was not measured."""

    part: str
    x: Int[ndarray, " sizes"]
    forward: Float[ndarray, " sizes"]  # seconds
    both: Float[ndarray, " sizes"]
    kept: Float[ndarray, " sizes"]  # bytes
    multiplications: Float[ndarray, " sizes"]
    bytes: Float[ndarray, " sizes"]

    def seconds(self, way: str) -> Float[ndarray, " sizes"]:
        return self.both if way == "both" else self.forward

    def fitted(self, way: str) -> Float[ndarray, " sizes"]:
        """The formula's line, moved through the middle measured point."""
        return scaled(self.multiplications, self.seconds(way))

    def powers(self, sweep: str, way: str) -> tuple[float, float, float]:
        """By which power of the size the seconds grow, their formula, and the bytes."""
        lines = self.seconds(way), self.multiplications, self.kept
        time, formula, memory = (slope(self.x, line, FROM[sweep]) for line in lines)
        return time, formula, memory

    def last(self) -> int:
        """Where the last measured size stands."""
        return int(np.flatnonzero(np.isfinite(self.forward))[-1])

    def rate(self) -> float:
        """Multiplications a nanosecond, in the forward at the last size that was measured."""
        at = self.last()
        return float(self.multiplications[at] / self.forward[at] / 1e9)

    def times(self, other: Swept, way: str) -> tuple[int, float, float]:
        """At the last size that both have: that size, how often the other's seconds fit into mine, and by formula."""
        at = min(self.last(), other.last())
        mine, theirs = self.seconds(way)[at], other.seconds(way)[at]
        return int(self.x[at]), float(mine / theirs), float(self.multiplications[at] / other.multiplications[at])


def times(ratio: float) -> str:
    """So many times, with as many digits as are worth it."""
    return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.1f}"


def where(place: float) -> str:
    """From which length on, as `crossing` says it."""
    if place == 0:
        return "at every length measured"
    return "at no length measured" if np.isinf(place) else f"from about {place:,.0f} tokens on"


def length_finding(found: Mapping[str, Swept], state: Cost) -> str:
    """From where attention costs more than the feedforward part, and by how much at the end."""
    attention, fused, forward = found["attention"], found["fused"], found["feedforward"]
    x = attention.x
    stores = crossing(x, attention.seconds(state.way), forward.seconds(state.way))
    kernel = crossing(x, fused.seconds(state.way), forward.seconds(state.way))
    end, ratio, _ = attention.times(forward, state.way)
    if stores == kernel:
        said = f"Attention, fused or not, costs more than the feedforward part {where(stores)}"
    else:
        said = f"Attention costs more than the feedforward part {where(stores)}, fused {where(kernel)}"
    said += f"; the formula says from {2 * state.width:,} on."
    kernels = times(fused.times(forward, state.way)[1])
    return f"{said} At {end:,} tokens it takes {times(ratio)} times as long, fused {kernels}."


def width_finding(found: Mapping[str, Swept], state: Cost) -> str:
    """How close each part comes to the square of the width."""
    powers = {part: each.powers("width", state.way)[:2] for part, each in found.items()}
    steep = max(powers, key=lambda part: powers[part][0])
    flat = min(powers, key=lambda part: powers[part][0])
    below = sum(time < formula - 0.1 for time, formula in powers.values())
    said = (
        f"From width {FROM['width']} on, seconds grow with d to the {powers[flat][0]:.1f} ({NAMES[flat]}) up to the "
        f"{powers[steep][0]:.1f} ({NAMES[steep]})"
    )
    if not below:
        return f"{said}: nowhere less than the formulas say."
    who = "all of them" if below == len(powers) else f"{number(below)} of {number(len(powers))}"
    return f"{said}; for {who} less than the formula says."


def layers_finding(found: Mapping[str, Swept], state: Cost) -> str:
    """What so many times the layers cost."""
    most = int(next(iter(found.values())).x[-1])
    ratios = {part: float(each.seconds(state.way)[-1] / each.seconds(state.way)[0]) for part, each in found.items()}
    memory = [float(each.kept[-1] / each.kept[0]) for each in found.values()]
    least, mostly = min(ratios.values()), max(ratios.values())
    kept = times(memory[0]) if max(memory) - min(memory) < 0.1 else f"{times(min(memory))} to {times(max(memory))}"
    return (
        f"{capital(number(most))} times the layers take {times(least)} to {times(mostly)} times as long, and keep "
        f"{kept} times the memory."
    )


def missing(there: Sequence[str]) -> str:
    """Which parts are not measured yet."""
    names = [NAMES[part] for part in PARTS if part not in there]
    return f"{capital(listed(names))} {'is' if len(names) == 1 else 'are'}"


def note(found: Mapping[str, Swept], state: Cost, sweep: str) -> str:
    """Where formulas and lines part: what every call costs, and steps that wait for each other."""
    if sweep == "length":
        return "\n\n".join(filter(None, (steps_note(found, state), kernel_note(found, state), memory_note(found))))
    each = {part: swept.fitted(state.way) / swept.seconds(state.way) for part, swept in found.items()}
    low = {part: float(1 / ratio[0]) for part, ratio in each.items() if np.isfinite(ratio[0]) and ratio[0] < 1 / ALIKE}
    if not low:
        return "No line lies above its formula at the smallest size."
    worst = max(low, key=lambda part: low[part])
    size = int(next(iter(found.values())).x[0])
    what = f"width {size}" if sweep == "width" else f"{number(size)} layer{'s' * (size > 1)}"
    return (
        f"At {what} the formula is furthest off for {NAMES[worst]}: it takes {times(low[worst])} times what the "
        "line through the middle point says. What a call costs, however small its product, no formula here counts."
    )


def steps_note(found: Mapping[str, Swept], state: Cost) -> str:
    """What recurrence pays for: steps one after the other."""
    gru, forward = found["gru"], found["feedforward"]
    seconds = gru.seconds(state.way)
    first = int(np.searchsorted(gru.x, FROM["length"]))
    end, measured, formula = gru.times(forward, state.way)
    at = gru.last()
    a, b = (1e6 * float(seconds[i]) / int(gru.x[i]) for i in (first, at))
    same = "the same step again and again, each waiting for the last"
    if max(a, b) > 1.5 * min(a, b):
        same = f"a step of the longer one costs {'more' if b > a else 'less'}"
    why = ", for its products are small and many" if measured > ALIKE * formula else ""
    return (
        f"A step of the GRU takes {a:.1f} microseconds in a sequence of {int(gru.x[first]):,} and {b:.1f} in one of "
        f"{end:,}: {same}. By the formula it takes {times(formula)} times as long as the feedforward part of this "
        f"width; measured are {times(measured)} times{why}."
    )


def kernel_note(found: Mapping[str, Swept], state: Cost) -> str:
    """That an LSTM quicker than the GRU tells of kernels: our models hand its sequence to PyTorch's in one call, which
    has one of its own for it (oneDNN's) on most processors, and none for the GRU."""
    end, measured, formula = found["gru"].times(found["lstm"], state.way)
    if measured <= ALIKE * formula:
        return ""
    return (
        f"The LSTM multiplies {times(1 / formula)} times as much as the GRU; at {end:,} the GRU takes "
        f"{times(measured)} times as long. That tells of kernels, not of cells: all steps of the LSTM are one call of "
        "a library here, those of RNN and GRU many small ones."
    )


def memory_note(found: Mapping[str, Swept]) -> str:
    """Whose memory the formula gives to the byte, and whose not."""
    exact: list[tuple[str, float]] = []
    others: list[tuple[str, float]] = []
    for part, each in found.items():
        there = np.isfinite(each.kept)
        ratio = float((each.kept[there] / each.bytes[there]).max())
        (exact if 0.995 < ratio < 1.005 else others).append((NAMES[part], ratio))
    said = f"The bytes kept are those of the formula for {listed([name for name, _ in exact])}." if exact else ""
    more = [f"{name} keeps up to {times(ratio)} times as many" for name, ratio in others]
    why = " That is working memory of PyTorch’s kernel, which the formula leaves out." if more else ""
    return f"{said} {capital(listed(more))}.{why}".strip() if more else said


# By how the name of a layer ends in the code, the longer endings first.
_SPOKEN: Final = {
    "attention.project": "queries, keys and values",
    "attention_norm": "norm of the attention",
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
    "input": "from what is read",
    "recurrent": "from the state",
    "embedding": "a vector for each token",
    "position": "a vector for each place",
    "readout": "the answer",
}


def spoken(name: str) -> str:
    """What a layer does, of the name that it has in the code; that name where there are no words for it."""
    plain = re.sub(r"\[.*?\]", "", name)
    words = next((words for end, words in _SPOKEN.items() if plain == end or plain.endswith(f".{end}")), "")
    stack = plain.partition(".")[0]
    return f"{stack}: {words}" if words and stack in ("encoder", "decoder") else words or name


def parts_finding(title: str, parts: Sequence[tuple[str, int]], total: int) -> str:
    """Which part holds most of the parameters; or which, where several have as many. `parts`: what each is called,
    and how many it has."""
    most = max(count for _, count in parts)
    names = [f"“{name}”" for name, count in parts if count == most]
    has = "has" if len(names) == 1 else "each have"
    largest = f"The largest part{'s' * (len(names) > 1)}, {listed(names)}, {has} {most:,} of them, {most / total:.0%}."
    return f"{title}: {total:,} parameters. {largest}"


FINDINGS: Final = {"length": length_finding, "width": width_finding, "layers": layers_finding}
