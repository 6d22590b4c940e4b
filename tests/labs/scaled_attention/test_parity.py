"""Parity of `static/components/dot_product/math.js`, run in node, with torch."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from tests import needs

SCRIPT = Path(__file__).parents[3] / "explorer" / "static" / "components" / "dot_product" / "math.js"
NODE_SCRIPT = """
import { readFileSync } from "node:fs";
const { attend, hiddenBy } = await import(process.argv[1]);
const given = JSON.parse(readFileSync(0, "utf8"));
const hidden = ({ q, mask, padding }) => hiddenBy(mask, q.length, padding);
const all = given.map((one) => attend(one.q, one.k, one.v, one.divide, hidden(one)));
console.log(JSON.stringify(all));
"""


@needs.node
def test_attention_in_javascript_equals_torch() -> None:
    random = torch.Generator().manual_seed(4)
    cases: list[dict[str, Any]] = []
    for count, width in ((2, 2), (4, 3), (6, 6), (12, 64)):
        for mask in ("none", "causal", "padding"):
            q, k, v = (3 * torch.randn(count, width, generator=random, dtype=torch.float64) for _ in range(3))
            for divide in (True, False):
                cases.append({"q": q, "k": k, "v": v, "divide": divide, "mask": mask, "padding": [count - 1]})
    payload = [{name: v.tolist() if isinstance(v, torch.Tensor) else v for name, v in case.items()} for case in cases]
    process = subprocess.run(
        [str(needs.NODE), "--input-type=module", "-e", NODE_SCRIPT, SCRIPT.as_uri()],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
    )
    for case, found in zip(cases, json.loads(process.stdout), strict=True):
        q, k, v, count = case["q"], case["k"], case["v"], len(case["q"])
        allowed = torch.ones(count, count, dtype=torch.bool)
        allowed = allowed.tril() if case["mask"] == "causal" else allowed
        if case["mask"] == "padding":
            allowed[:, -1] = False
        scale = 1 / math.sqrt(q.shape[-1]) if case["divide"] else 1.0
        expected_output = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=scale)
        assert torch.tensor(found["out"], dtype=torch.float64).sub(expected_output).abs().max() < 1e-12
        weights = [[0.0 if w is None else w for w in row] for row in found["weights"]]
        expected = (q @ k.T * scale).masked_fill(~allowed, -math.inf).softmax(-1)
        assert torch.tensor(weights, dtype=torch.float64).sub(expected).abs().max() < 1e-12
