"""Parity of `static/components/gates_by_hand/math.js`, run in node, with `explorer.models` with fixed gates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
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

SCRIPT = Path(__file__).parents[3] / "explorer" / "static" / "components" / "gates_by_hand" / "math.js"
NODE_SCRIPT = """
import { readFileSync } from "node:fs";
const { computeCells: computed, parseLane: lane } = await import(process.argv[1]);
const given = JSON.parse(readFileSync(0, "utf8"));
const lanes = (texts) => Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, lane(text)]));
const all = ({ lanes: texts, u, w }) => ({ lanes: lanes(texts), ...computed(lanes(texts), u, w) });
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


@pytest.fixture(scope="module")
def node_results() -> list[dict[str, Any]]:
    if needs.NODE is None:
        pytest.skip(needs.NO_NODE)
    process = subprocess.run(
        [needs.NODE, "--input-type=module", "-e", NODE_SCRIPT, SCRIPT.as_uri()],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    found: list[dict[str, Any]] = json.loads(process.stdout)
    return found


def column_vector(text: str) -> Tensor:
    return torch.tensor(parse_trace(text), dtype=torch.float64)


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


def assert_close(found: list[float], expected: Tensor) -> None:
    assert found == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_lstm_in_javascript_equals_the_model(node_results: list[dict[str, Any]], index: int) -> None:
    case, found = CASES[index], node_results[index]["lstm"]
    gate_traces = {name: column_vector(text) for name, text in case["lanes"].items()}
    cell = cell_with_weights(LSTMCell(1, 1, generator(0, "start")), 2, case["u"])
    fixed_gates = {"input_gate": gate_traces["i"], "forget_gate": gate_traces["f"], "output_gate": gate_traces["o"]}
    if bool((gate_traces["g"].abs() == 1).any()):  # no number goes into a tanh for it to be 1
        fixed_gates["candidate"] = gate_traces["g"]
    inputs = gate_traces["g"].clamp(-0.999, 0.999).atanh()
    c, h, full = run_cell(cell, inputs, fixed_gates, "memory")
    assert_close(found["c"], c)
    assert_close(found["h"], h)
    assert_close(found["full"], full)
    if not case["u"]:
        assert_close(found["straight"], full)


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_gru_in_javascript_equals_the_model(node_results: list[dict[str, Any]], index: int) -> None:
    case, found = CASES[index], node_results[index]["gru"]
    gate_traces = {name: column_vector(text) for name, text in case["lanes"].items()}
    cell = cell_with_weights(GRUCell(1, 1, generator(0, "start")), 2, case["u"])
    fixed_gates = {"reset_gate": gate_traces["r"], "update_gate": gate_traces["z"]}
    if bool((gate_traces["n"].abs() == 1).any()):
        fixed_gates["candidate"] = gate_traces["n"]
    h, _, full = run_cell(cell, gate_traces["n"].clamp(-0.999, 0.999).atanh(), fixed_gates, "state")
    assert_close(found["h"], h)
    assert_close(found["full"], full)
    if not case["u"]:
        assert_close(found["straight"], full)


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_plain_rnn_in_javascript_equals_the_model_on_the_same_input(
    node_results: list[dict[str, Any]], index: int
) -> None:
    case, found = CASES[index], node_results[index]
    gate_traces = {name: column_vector(text) for name, text in case["lanes"].items()}
    cell = cell_with_weights(RNNCell(1, 1, generator(0, "start")), 0, case["w"])
    for which, inputs in (
        ("lstm", gate_traces["i"] * gate_traces["g"]),
        ("gru", (1 - gate_traces["z"]) * gate_traces["n"]),
    ):
        h, _, gradient = run_cell(cell, inputs, {}, "state")
        assert_close(found[which]["plain"], h)
        assert_close(found[which]["rnn"], gradient)


def test_traces_are_parsed_equally_in_python_and_javascript(node_results: list[dict[str, Any]]) -> None:
    for case, found in zip(CASES, node_results, strict=True):
        assert found["lanes"] == {name: list(parse_trace(text)) for name, text in case["lanes"].items()}
        assert {len(values) for values in found["lanes"].values()} == {STEPS}
