"""The cells of the browser are ours: `assets/cellmath.js` in node, `explorer.models` with their gates held by hand."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.models.gru import GRUCell
from explorer.models.lstm import LSTMCell
from explorer.models.rnn import RNNCell
from explorer.models.taps import intervene, record
from explorer.seeds import generator
from explorer.ui.cell import PRESETS, STEPS, lane

NODE = shutil.which("node")
SCRIPT = Path(__file__).parents[2] / "explorer" / "ui" / "assets" / "cellmath.js"
NODE_SCRIPT = """
import { readFileSync } from "node:fs";
const { computed, lane } = await import(process.argv[1]);
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
    *({"lanes": dict(preset.lanes), "u": 0.0, "w": 1.0} for preset in PRESETS),
    *({"lanes": MIXED, "u": u, "w": w} for u, w in ((0.0, 0.5), (0.8, 1.0), (-1.7, 1.9))),
]


@pytest.fixture(scope="module")
def answers() -> list[dict[str, Any]]:
    if NODE is None:
        pytest.skip("node is not installed: the scripts of the browser are not tested here")
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", NODE_SCRIPT, SCRIPT.as_uri()],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def column(text: str) -> Tensor:
    return torch.tensor(lane(text), dtype=torch.float64)


def ready(cell: torch.nn.Module, row: int, u: float) -> torch.nn.Module:
    """A cell of one unit whose only weights are 1 from what it is given to this row, and u from the state."""
    cell = cell.double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.input.weight[row] = 1.0  # type: ignore[union-attr,index,operator]  # a Linear
        cell.recurrent.weight[row] = u  # type: ignore[union-attr,index,operator]
    return cell


def states(cell: Any, given: Tensor, held: dict[str, Tensor], memory: str) -> tuple[Tensor, Tensor, Tensor]:
    """Every memory and state of a reading, and the gradient of the last memory at each."""
    changes = {name: lambda value, step, of=of: of[step].expand_as(value) for name, of in held.items()}
    with intervene(cell, changes), record(cell) as trace:
        state = tuple(part.requires_grad_() for part in cell.start(given[None, :, None]))
        for x in given:
            state = cell.step(cell.project(x.view(1, 1)), state)
        steps = trace._values[memory]
        assert isinstance(steps, list)
        gradients = torch.autograd.grad(steps[-1].sum(), steps)
        kept, shown = torch.cat([s.flatten() for s in steps]), trace["state"].flatten()
    return kept.detach(), shown.detach(), torch.cat([g.flatten() for g in gradients])


def close(found: list[float], wanted: Tensor) -> None:
    assert found == pytest.approx(wanted.tolist(), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_lstm_is_ours(answers: list[dict[str, Any]], index: int) -> None:
    case, found = CASES[index], answers[index]["lstm"]
    lanes = {name: column(text) for name, text in case["lanes"].items()}
    cell = ready(LSTMCell(1, 1, generator(0, "start")), 2, case["u"])
    held = {"input_gate": lanes["i"], "forget_gate": lanes["f"], "output_gate": lanes["o"]}
    if bool((lanes["g"].abs() == 1).any()):  # no number goes into a tanh for it to be 1
        held["candidate"] = lanes["g"]
    given = lanes["g"].clamp(-0.999, 0.999).atanh()
    c, h, full = states(cell, given, held, "memory")
    close(found["c"], c)
    close(found["h"], h)
    close(found["full"], full)
    if not case["u"]:
        close(found["straight"], full)


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_gru_is_ours(answers: list[dict[str, Any]], index: int) -> None:
    case, found = CASES[index], answers[index]["gru"]
    lanes = {name: column(text) for name, text in case["lanes"].items()}
    cell = ready(GRUCell(1, 1, generator(0, "start")), 2, case["u"])
    held = {"reset_gate": lanes["r"], "update_gate": lanes["z"]}
    if bool((lanes["n"].abs() == 1).any()):
        held["candidate"] = lanes["n"]
    h, _, full = states(cell, lanes["n"].clamp(-0.999, 0.999).atanh(), held, "state")
    close(found["h"], h)
    close(found["full"], full)
    if not case["u"]:
        close(found["straight"], full)


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_plain_rnn_is_ours_and_is_given_what_its_neighbour_writes(
    answers: list[dict[str, Any]], index: int
) -> None:
    case, found = CASES[index], answers[index]
    lanes = {name: column(text) for name, text in case["lanes"].items()}
    cell = ready(RNNCell(1, 1, generator(0, "start")), 0, case["w"])
    for which, given in (("lstm", lanes["i"] * lanes["g"]), ("gru", (1 - lanes["z"]) * lanes["n"])):
        h, _, gradient = states(cell, given, {}, "state")
        close(found[which]["plain"], h)
        close(found[which]["rnn"], gradient)


def test_lanes_are_read_alike_here_and_there(answers: list[dict[str, Any]]) -> None:
    for case, found in zip(CASES, answers, strict=True):
        assert found["lanes"] == {name: list(lane(text)) for name, text in case["lanes"].items()}
        assert {len(values) for values in found["lanes"].values()} == {STEPS}
