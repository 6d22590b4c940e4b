"""The state of the page on gates: the value of each gate of an LSTM and a GRU cell over 50 steps.

The cells are computed in the browser (`labs/gates/components/gates_by_hand/math.js`); this module holds what the URL
stores.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.ui.state import url_codec
from explorer.ui.state.fields import PageState, setting

STEPS = 50
LSTM_GATES, GRU_GATES = ("f", "i", "g", "o"), ("z", "r", "n")
_MAX_CHARACTERS = 400  # of a trace as text
_VALUE_AND_COUNT = re.compile(r"(-?\d?\.?\d{1,3})(?:x(\d{1,2}))?")


def parse_trace(trace: str) -> tuple[float, ...]:
    """Parse the values of a gate over time, one per step, from runs of a value and its count: "0x4,1,0".

    The last value is repeated up to the last step. Raises InvalidSetting.
    """
    values: list[float] = []
    for part in trace.split(","):
        run = _VALUE_AND_COUNT.fullmatch(part)
        if run is None:
            raise InvalidSetting(
                f"“{shorten(part)}” is not a valid part of a gate’s values. Separate values by commas; "
                "put a count after an x: 0x4,1,0."
            )
        values += [float(run[1])] * int(run[2] or 1)
    if len(values) > STEPS:
        raise InvalidSetting(f"A gate has {STEPS} steps; this one has {len(values)}. Write fewer.")
    return (*values, *values[-1:] * (STEPS - len(values)))


def _check_gate(trace: object) -> None:
    wrong = next((v for v in parse_trace(str(trace)) if not 0 <= v <= 1), None)
    if wrong is not None:
        raise InvalidSetting(f"A gate is between 0 (closed) and 1 (open); {wrong:g} is not. Write another value.")


def _check_candidate(trace: object) -> None:
    wrong = next((v for v in parse_trace(str(trace)) if not -1 <= v <= 1), None)
    if wrong is not None:
        raise InvalidSetting(
            f"A candidate is the output of a tanh, between -1 and 1; {wrong:g} is not. Write another value."
        )


def _trace_field(text: str, check: Callable[[object], None] = _check_gate) -> Any:
    return setting(text, check=check, longest=_MAX_CHARACTERS)


@dataclass(frozen=True)
class GatesState(PageState):
    """The trace of every gate, the two weights, and the selected step."""

    f: str = _trace_field("0.9")
    i: str = _trace_field("1,0")
    g: str = _trace_field("1", _check_candidate)
    o: str = _trace_field("1")
    z: str = _trace_field("0,0.9")
    r: str = _trace_field("1")
    n: str = _trace_field("1,0", _check_candidate)
    u: float = setting(0.0, low=-2.0, high=2.0)  # weight from the state to the candidate
    w: float = setting(1.0, low=0.0, high=2.0)  # recurrent weight of the plain RNN
    at: int = setting(STEPS, low=1, high=STEPS)
    show: Literal["lstm", "gru"] = setting("lstm")  # on a narrow screen

    @property
    def traces(self) -> dict[str, str]:
        """Return the trace of every gate as text, by the gate's letter."""
        return {name: getattr(self, name) for name in (*LSTM_GATES, *GRU_GATES)}

    def first_write_step(self, gate: str) -> int:
        """Return the first step, counted from 1, at which the cell of this gate ("f" or "z") writes; 1 if it never
        does.
        """
        if gate == "f":
            amounts = [i * g for i, g in zip(parse_trace(self.i), parse_trace(self.g), strict=True)]
        else:
            amounts = [(1 - z) * n for z, n in zip(parse_trace(self.z), parse_trace(self.n), strict=True)]
        return next((step for step, amount in enumerate(amounts, start=1) if amount), 1)

    def gates_after_write(self, gate: str) -> tuple[float, ...]:
        """Return the values of this gate at each step after the cell's first write."""
        return parse_trace(getattr(self, gate))[self.first_write_step(gate) :]


@dataclass(frozen=True)
class Preset:
    """Gate traces to start from; both cells do the same, as far as a GRU can."""

    name: str
    traces: Mapping[str, str]
    at: int = STEPS


def _bias_preset(name: str, bias: float) -> Preset:
    """Return a preset with the forget gate at sigmoid(bias) and all other gates at 0.5, where zeros would set them."""
    keep = f"{1 / (1 + math.exp(-bias)):.3f}".rstrip("0")
    return Preset(name, {"f": keep, "i": "0.5", "g": "1,0", "o": "0.5", "z": keep, "r": "0.5", "n": "1,0"})


_WRITE_ONCE, _WRITE_TWICE, _WRITE_TEN_TIMES = "0x4,1,0", "0x4,1,0x19,{},0", ",".join(["0x4,1"] * 10)
PRESETS = (
    Preset("Forget gate 0.9", GatesState().traces),
    Preset(
        "Remember one bit",
        {"f": "1", "i": _WRITE_ONCE, "g": _WRITE_ONCE, "o": "0x39,1,0", "z": "1x4,0,1", "r": "1", "n": _WRITE_ONCE},
        at=40,
    ),
    Preset(
        "Overwrite",
        {
            "f": "1x24,0,1",
            "i": _WRITE_TWICE.format(1),
            "g": _WRITE_TWICE.format(-1),
            "o": "1",
            "z": "1x4,0,1x19,0,1",
            "r": "1",
            "n": _WRITE_TWICE.format(-1),
        },
        at=25,
    ),
    _bias_preset("PyTorch default: f = 0.5", 0.0),
    _bias_preset("Forget bias 1", 1.0),
    _bias_preset("Forget bias 3", 3.0),
    Preset(
        "A counter",
        {"f": "1", "i": _WRITE_TEN_TIMES, "g": "1", "o": "1", "z": ",".join(["1x4,0.5"] * 10), "r": "1", "n": "1"},
    ),
)


def apply_event(state: GatesState, message: object) -> GatesState:
    """Return the state after a JSON message of the component; an invalid message changes nothing."""
    try:
        content = json.loads(str(message))
        parts = {**content.pop("lanes"), **content}
        new, problems = url_codec.read(GatesState, {name: f"{value}" for name, value in parts.items()})
    except (ValueError, AttributeError, KeyError, TypeError, LineageError):
        return state
    return state if problems else new
