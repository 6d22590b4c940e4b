"""Parity of the block diagram's arithmetic, run in node, with the forward pass of the models."""

from __future__ import annotations

import numpy as np

from tests import needs
from tests.inspection.transformer.test_block import MODELS, diagram_of
from tests.labs.node import run_in_node

SCRIPT = """
const found = {};
for (const [title, model] of Object.entries(given)) {
  const numbers = (tensor) => { tensor.data = tensor.data.map((value) => (value === null ? -Infinity : value)); };
  Object.values(model.flows).forEach(numbers);
  for (const [name, { shape }] of Object.entries(model.flows)) {
    const heads = shape.length === 3 ? shape[0] : 0, values = [];
    const [rows, columns] = shape.slice(-2);
    for (let h = 0; h < (heads || 1); h++) for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      const explained = m.explain(model, name, heads ? [h, r, c] : [r, c]);
      values.push(explained && explained.value === -Infinity ? null : explained ? explained.value : "nothing");
      if (explained && !(explained.formula && explained.steps.length)) throw new Error(`${name} is not explained`);
    }
    (found[title] ??= {})[name] = values;
  }
}
console.log(JSON.stringify(found));
"""


def tensor(values: np.ndarray) -> dict[str, object]:
    results = [None if value == -np.inf else float(value) for value in values.flatten()]
    return {"shape": list(values.shape), "data": results}


@needs.node
def test_the_browser_explains_every_number_as_the_model_computed_it() -> None:
    diagrams = {name: diagram_of(name, 1) for name in MODELS}
    payload = {
        title: {
            "flows": {
                name: {**{a: getattr(flow, a) for a in ("made", "ins", "parameters", "offset")}, **tensor(flow.values)}
                for name, flow in found.flows.items()
            },
            "parameters": {name: tensor(values) for name, values in found.parameters.items()},
        }
        for title, found in diagrams.items()
    }
    results = run_in_node("block_diagram/math.js", SCRIPT, payload)
    for title, found in diagrams.items():
        for name, flow in found.flows.items():
            if flow.made in ("ids", "blocks"):
                assert set(results[title][name]) == {"nothing"}
                continue
            values = [-np.inf if value is None else value for value in results[title][name]]
            np.testing.assert_allclose(values, flow.values.flatten(), atol=2e-5, rtol=1e-5, err_msg=f"{title} {name}")
