"""Parity of `labs/gates/components/gates_by_hand/math.js`, run in node, with `explorer.models` with fixed gates."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.labs.gates.state import PRESETS, STEPS, parse_trace
from explorer.models.gru import GRUCell
from explorer.models.lstm import LSTMCell
from explorer.models.rnn import RNNCell
from explorer.models.taps import intervene, record
from explorer.seeds import generator
from tests import needs
from tests.labs.node import run_in_node

pytestmark = needs.node
SCRIPT = """
const lanes = (texts) => Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, m.parseLane(text)]));
const all = ({ lanes: texts, u, w }) => ({ lanes: lanes(texts), ...m.computeCells(lanes(texts), u, w) });
console.log(JSON.stringify(given.map(all)));
"""
MIXED = {
    "f": "0.9x20,0.4,0.95",
    "i": "0.3,0.7x9,0.2",
    "g": "0.5x11,-0.8x7,0.1",
    "o": "0.2x25,0.9",
    "z": "0.8x13,0.3,0.9",
    "r": "0.4x31,1",
    "n": "-0.6x11,0.7x7,0.1",
}
CASES = [
    *({"lanes": dict(preset.traces), "u": 0.0, "w": 1.0} for preset in PRESETS),
    *({"lanes": MIXED, "u": u, "w": w} for u, w in ((0.0, 0.5), (0.8, 1.0), (-1.7, 1.9))),
]


def cell_with_weights(cell: torch.nn.Module, row: int, u: float) -> torch.nn.Module:
    """Return a cell of one unit whose only weights are 1 from the input to this row and u from the state."""
    cell = cell.double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.input.weight[row] = 1.0  # type: ignore[union-attr,index,operator]  # a Linear
        cell.recurrent.weight[row] = u  # type: ignore[union-attr,index,operator]
    return cell


def run_cell(cell: Any, inputs: Tensor, fixed_gates: dict[str, Tensor], memory: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return every memory and state, and the gradient of the last memory with respect to each."""
    changes = {name: lambda value, step, of=of: of[step].expand_as(value) for name, of in fixed_gates.items()}
    with intervene(cell, changes), record(cell) as trace:
        state = tuple(part.requires_grad_() for part in cell.initial_state(inputs[None, :, None]))
        for x in inputs:
            state = cell.step(cell.project(x.view(1, 1)), state)
        steps = trace._values[memory]
        assert isinstance(steps, list)
        gradients = torch.autograd.grad(steps[-1].sum(), steps)
        cell_states, outputs = torch.cat([s.flatten() for s in steps]), trace["state"].flatten()
    return cell_states.detach(), outputs.detach(), torch.cat([g.flatten() for g in gradients])


def assert_close(found: dict[str, list[float]], **expected: Tensor) -> None:
    for name, values in expected.items():
        assert found[name] == pytest.approx(values.tolist(), rel=1e-9, abs=1e-300), name


def test_the_cells_in_javascript_equal_the_models() -> None:
    for case, found in zip(CASES, run_in_node("gates_by_hand/math.js", SCRIPT, CASES), strict=True):
        parsed: dict[str, Any] = {name: list(parse_trace(text)) for name, text in case["lanes"].items()}  # type: ignore[attr-defined]
        assert found["lanes"] == parsed and {len(values) for values in parsed.values()} == {STEPS}
        traces = {name: torch.tensor(values, dtype=torch.float64) for name, values in parsed.items()}
        u, w = float(case["u"]), float(case["w"])  # type: ignore[arg-type]
        lstm = {"input_gate": traces["i"], "forget_gate": traces["f"], "output_gate": traces["o"]}
        gru = {"reset_gate": traces["r"], "update_gate": traces["z"]}
        for gates, candidate in ((lstm, traces["g"]), (gru, traces["n"])):
            if bool((candidate.abs() == 1).any()):  # no number goes into a tanh for it to be 1
                gates["candidate"] = candidate
        inputs, new = (traces[name].clamp(-0.999, 0.999).atanh() for name in "gn")
        c, h, full = run_cell(cell_with_weights(LSTMCell(1, 1, generator(0, "start")), 2, u), inputs, lstm, "memory")
        assert_close(found["lstm"], c=c, h=h, full=full, **({} if u else {"straight": full}))
        h, _, full = run_cell(cell_with_weights(GRUCell(1, 1, generator(0, "start")), 2, u), new, gru, "state")
        assert_close(found["gru"], h=h, full=full, **({} if u else {"straight": full}))
        rnn = cell_with_weights(RNNCell(1, 1, generator(0, "start")), 0, w)
        for name, inputs in (("lstm", traces["i"] * traces["g"]), ("gru", (1 - traces["z"]) * traces["n"])):
            h, _, gradient = run_cell(rnn, inputs, {}, "state")
            assert_close(found[name], plain=h, rnn=gradient)
