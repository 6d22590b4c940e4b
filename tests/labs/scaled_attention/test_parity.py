"""Parity of `labs/scaled_attention/components/dot_product/math.js`, run in node, with torch."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F

from tests import needs
from tests.labs.node import run_in_node

SCRIPT = """
const hidden = ({ q, mask, padding }) => m.hiddenBy(mask, q.length, padding);
console.log(JSON.stringify(given.map((one) => m.attend(one.q, one.k, one.v, one.divide, hidden(one)))));
"""


@needs.node
def test_attention_in_javascript_equals_torch() -> None:
    random = torch.Generator().manual_seed(4)
    cases: list[dict[str, Any]] = []
    for (count, width), mask in product(((2, 2), (4, 3), (6, 6), (12, 64)), ("none", "causal", "padding")):
        q, k, v = (3 * torch.randn(count, width, generator=random, dtype=torch.float64) for _ in range(3))
        same = {"q": q, "k": k, "v": v, "mask": mask, "padding": [count - 1]}
        cases += [{**same, "divide": divide} for divide in (True, False)]
    payload = [{name: v.tolist() if isinstance(v, torch.Tensor) else v for name, v in case.items()} for case in cases]
    for case, found in zip(cases, run_in_node("dot_product/math.js", SCRIPT, payload), strict=True):
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
