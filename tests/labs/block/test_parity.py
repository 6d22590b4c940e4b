"""Parity of the block diagram's arithmetic, run in node, with the forward pass of the models."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np

from tests import needs
from tests.inspection.transformer.test_block import MODELS, diagram_of

MATH = Path(__file__).parents[3] / "explorer" / "static" / "components" / "block_diagram" / "math.js"
SCRIPT = """
import { readFileSync } from "node:fs";
const m = await import(process.argv[1]);
const models = JSON.parse(readFileSync(0, "utf8")), found = {};
for (const [title, model] of Object.entries(models)) {
  const numbers = (tensor) => { tensor.data = tensor.data.map((value) => (value === null ? -Infinity : value)); };
  Object.values(model.flows).forEach(numbers);
  for (const [name, { shape }] of Object.entries(model.flows)) {
    const heads = shape.length === 3 ? shape[0] : 0, values = [];
    const [rows, columns] = shape.slice(-2);
    for (let h = 0; h < (heads || 1); h++) for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      const told = m.explain(model, name, heads ? [h, r, c] : [r, c]);
      values.push(told && told.value === -Infinity ? null : told ? told.value : "nothing");
      if (told && !(told.formula && told.steps.length)) throw new Error(`${name} says nothing`);
    }
    (found[title] ??= {})[name] = values;
  }
}
console.log(JSON.stringify(found));
"""


@needs.node
def test_the_browser_explains_every_number_as_it_was_computed() -> None:
    made = {name: diagram_of(name, 1) for name in MODELS}

    def tensor(values: np.ndarray) -> dict[str, object]:
        told = [None if value == -np.inf else float(value) for value in values.flatten()]
        return {"shape": list(values.shape), "data": told}

    given = {
        title: {
            "flows": {
                name: {**{a: getattr(flow, a) for a in ("made", "ins", "parameters", "offset")}, **tensor(flow.values)}
                for name, flow in found.flows.items()
            },
            "parameters": {name: tensor(values) for name, values in found.parameters.items()},
        }
        for title, found in made.items()
    }
    done = subprocess.run(
        [str(needs.NODE), "--input-type=module", "-e", SCRIPT, MATH.as_uri()],
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for title, found in made.items():
        for name, flow in found.flows.items():
            if flow.made in ("ids", "blocks"):
                assert set(told[title][name]) == {"nothing"}
                continue
            values = [-np.inf if value is None else value for value in told[title][name]]
            np.testing.assert_allclose(values, flow.values.flatten(), atol=2e-5, rtol=1e-5, err_msg=f"{title} {name}")
