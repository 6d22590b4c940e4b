"""Gates by hand: what a visitor has set in one LSTM cell and one GRU, and the sentences about it.

The arithmetic follows the hand in the browser (`assets/cellmath.js`); here stands what the address holds.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from explorer.errors import InvalidSetting, LineageError, shortened
from explorer.training.recall_runs import CONTESTANTS, SOLVED
from explorer.ui import address
from explorer.ui.components import ears, heard, register

STEPS = 50
LSTM, GRU = ("f", "i", "g", "o"), ("z", "r", "n")
_LONGEST = 400  # characters of a lane
_RUN = re.compile(r"(-?\d?\.?\d{1,3})(?:x(\d{1,2}))?")
_KEY = "cell"
_cell = register("cell")


def lane(text: str) -> tuple[float, ...]:
    """A gate over time from its text: runs of a value and its count, "0x4,1,0"; the last value goes on to the end.

    Raises InvalidSetting.
    """
    values: list[float] = []
    for part in text.split(","):
        run = _RUN.fullmatch(part)
        if run is None:
            raise InvalidSetting(
                f"“{shortened(part)}” is no part of a lane. Write values with commas, a count after an x: 0x4,1,0."
            )
        values += [float(run[1])] * int(run[2] or 1)
    if len(values) > STEPS:
        raise InvalidSetting(f"A lane has {STEPS} steps, and this one has {len(values)}: write fewer.")
    return (*values, *values[-1:] * (STEPS - len(values)))


def _gate(given: object) -> None:
    wrong = next((v for v in lane(str(given)) if not 0 <= v <= 1), None)
    if wrong is not None:
        raise InvalidSetting(f"A gate lies between 0, closed, and 1, open; {wrong:g} does not. Write another value.")


def _candidate(given: object) -> None:
    wrong = next((v for v in lane(str(given)) if not -1 <= v <= 1), None)
    if wrong is not None:
        raise InvalidSetting(f"A candidate is a tanh, between -1 and 1; {wrong:g} is not. Write another value.")


def _lane(text: str, check: Callable[[object], None] = _gate) -> Any:
    return field(default=text, metadata={"check": check, "longest": _LONGEST})


@dataclass(frozen=True)
class Cell:
    """Every gate over time, the two weights, and the step that is looked at."""

    f: str = _lane("0.9")
    i: str = _lane("1,0")
    g: str = _lane("1", _candidate)
    o: str = _lane("1")
    z: str = _lane("0,0.9")
    r: str = _lane("1")
    n: str = _lane("1,0", _candidate)
    u: float = field(default=0.0, metadata={"low": -2.0, "high": 2.0})  # from the state to the candidate
    w: float = field(default=1.0, metadata={"low": 0.0, "high": 2.0})  # of the plain RNN
    at: int = field(default=STEPS, metadata={"low": 1, "high": STEPS})
    show: Literal["lstm", "gru"] = "lstm"  # on a narrow screen

    @property
    def lanes(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in (*LSTM, *GRU)}

    def written(self, gate: str) -> int:
        """The first step, from 1, at which the cell of this gate, "f" or "z", writes something; else the first."""
        if gate == "f":
            amounts = [i * g for i, g in zip(lane(self.i), lane(self.g), strict=True)]
        else:
            amounts = [(1 - z) * n for z, n in zip(lane(self.z), lane(self.n), strict=True)]
        return next((step for step, amount in enumerate(amounts, start=1) if amount), 1)

    def kept(self, gate: str) -> tuple[float, ...]:
        """What this gate keeps at each step after the cell has first written."""
        return lane(getattr(self, gate))[self.written(gate) :]


@dataclass(frozen=True)
class Preset:
    """Settings to begin with: both cells do the same, as far as the GRU can."""

    name: str
    lanes: Mapping[str, str]
    at: int = STEPS


def _bias(name: str, bias: float) -> Preset:
    """The forget gate as its bias alone would set it, all others half open, as zeros would set them."""
    keep = f"{1 / (1 + math.exp(-bias)):.3f}".rstrip("0")
    return Preset(name, {"f": keep, "i": "0.5", "g": "1,0", "o": "0.5", "z": keep, "r": "0.5", "n": "1,0"})


_ONCE, _TWICE, _TEN = "0x4,1,0", "0x4,1,0x19,{},0", ",".join(["0x4,1"] * 10)
PRESETS = (
    Preset("Leak with f = 0.9", Cell().lanes),
    Preset(
        "Remember one bit",
        {"f": "1", "i": _ONCE, "g": _ONCE, "o": "0x39,1,0", "z": "1x4,0,1", "r": "1", "n": _ONCE},
        at=40,
    ),
    Preset(
        "Overwrite",
        {
            "f": "1x24,0,1",
            "i": _TWICE.format(1),
            "g": _TWICE.format(-1),
            "o": "1",
            "z": "1x4,0,1x19,0,1",
            "r": "1",
            "n": _TWICE.format(-1),
        },
        at=25,
    ),
    _bias("PyTorch’s start: f = 0.5", 0.0),
    _bias("Forget bias 1", 1.0),
    _bias("Forget bias 3", 3.0),
    Preset(
        "A counter",
        {"f": "1", "i": _TEN, "g": "1", "o": "1", "z": ",".join(["1x4,0.5"] * 10), "r": "1", "n": "1"},
    ),
)


def taken(state: Cell, said: object) -> Cell:
    """The state after what the instrument told; as it was, where that is nothing one could set."""
    try:
        told = json.loads(str(said))
        parts = {**told.pop("lanes"), **told}
        new, problems = address.read(Cell, {name: f"{value}" for name, value in parts.items()})
    except (ValueError, AttributeError, KeyError, TypeError, LineageError):
        return state
    return state if problems else new


def hear(state: Cell) -> Cell:
    """What the visitor last set in the instrument."""
    said = heard(_KEY, "set")
    return state if said is None else taken(state, said)


def _told(state: Cell) -> dict[str, object]:
    own = {name: value for name, value in asdict(state).items() if name not in state.lanes}
    return {"lanes": state.lanes, **own}


def instrument(state: Cell) -> None:
    """Both cells; see `assets/cell.js`."""
    data = {
        **_told(state),
        "usual": _told(replace(Cell(), show=state.show)),
        "presets": [{"name": each.name, "lanes": dict(each.lanes), "at": each.at} for each in PRESETS],
        "file": "gates-by-hand",
    }
    _cell(data=data, key=_KEY, **ears(_KEY, "set"))


# ---- words


def product(factors: tuple[float, ...]) -> str:
    """A product in LaTeX, with equal factors as powers: 0.9^{49}; of many different ones its middle is left out."""
    counts = Counter(factors or (1.0,))  # of no factors: 1
    parts = [f"{value:g}^{{{count}}}" if count > 1 else f"{value:g}" for value, count in counts.most_common(4)]
    more = [r"\cdots"] * (len(counts) > 4)
    return r" \cdot ".join([*parts, *more])


def scientific(value: float) -> str:
    """A number in LaTeX with two digits."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{float(f'{value:.2g}'):g}"
    digits, _, power = f"{value:.1e}".partition("e")
    return rf"{digits} \cdot 10^{{{int(power)}}}"


@dataclass(frozen=True)
class Measured:
    """What trained nets made of a start of their gates."""

    bias: float
    solved: int
    seeds: int


def measured_finding(found: Mapping[float, Measured], length: int, title: str) -> str:
    """How many seeds learned to remember, by the bias at which their forget gates started."""
    if not found:
        return ""
    parts = []
    for bias, each in sorted(found.items()):
        start = f"at {1 / (1 + math.exp(-bias)):.2f} (bias {bias:g})" if bias else "at about 0.50 (the usual start)"
        parts.append(f"{start} {each.solved} of {each.seeds}")
    return (
        f"{title}s were trained to name the first of {length} symbols. So many seeds learned it, by where their gates "
        f"started: {'; '.join(parts)}."
    )


def measured(model: str, length: int = STEPS) -> dict[float, Measured]:
    """The kept runs of one architecture, by the bias its gates started with: the usual start has biases around 0."""
    from explorer.ui.runs import lanes

    starts = {0.0: "usual", 1.0: "forget-1", 3.0: "forget-3"}
    configs = {f"{bias}": CONTESTANTS[f"{model}-{name}"].config(length=length) for bias, name in starts.items()}
    found = {}
    for bias, kept in lanes(configs, set()).items():
        result = kept.result
        if result and "accuracy" in result.metrics:
            accuracy = result.last("accuracy")
            found[float(bias)] = Measured(float(bias), int((accuracy >= SOLVED).sum()), len(accuracy))
    return found
