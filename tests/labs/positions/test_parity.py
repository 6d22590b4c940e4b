"""Parity of the JavaScript of positions and masks, run in node, with torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.inspection.transformer.example_attention import layer_matrices, word_vectors
from explorer.models.transformer_decoder import rotate, rotations, sinusoids
from explorer.tasks.sequence_labelling.config import PAD
from tests import needs
from tests.labs.node import run_in_node

pytestmark = needs.node


def test_sinusoids_and_rotary_scores_in_javascript_equal_the_models() -> None:
    script = """
    const pair = m.drawPair(16, 5);
    console.log(JSON.stringify({ sines: [...m.sines(40, 32, 10000)], pair, scores: [...m.scores(pair, 1000, 40)] }));
    """
    found = run_in_node("positions/math.js", script)
    np.testing.assert_allclose(np.reshape(found["sines"], (40, 32)), sinusoids(40, 32).numpy(), atol=2e-5)
    q, k = (torch.tensor(found["pair"][name]).flatten().expand(40, 1, 16).contiguous() for name in ("query", "key"))
    by = rotations(40, 16)
    ours = (rotate(q, by)[:, 0] @ rotate(k, by)[:, 0].T) / (q[0].norm() * k[0].norm())
    np.testing.assert_allclose(np.reshape(found["scores"], (40, 40)), ours.numpy(), atol=2e-5)


@pytest.mark.parametrize("side", ["right", "left"])
def test_masked_attention_in_javascript_equals_torch(side: str) -> None:
    words = ["it", "rained", PAD] if side == "right" else [PAD, "it", "rained"]
    vectors, matrices = word_vectors(words), layer_matrices()[0]
    given = {
        "tokens": words,
        "vectors": [vectors[word].tolist() for word in words],
        "layer": {name: matrix.tolist() for name, matrix in matrices.items()},
        "options": {"padding": True, "causal": True, "fill": "infinite"},
    }
    script = """
    const mask = m.combineMasks(given.tokens, given.options);
    const found = m.attentionLayer(given.vectors, given.layer, mask, "infinite");
    const withNulls = (rows) => rows.map((row) => row.map((value) => (Number.isNaN(value) ? null : value)));
    console.log(JSON.stringify({ mask, weights: withNulls(found.weights), out: withNulls(found.out) }));
    """
    found = run_in_node("masks/math.js", script, given)
    x = torch.tensor(np.stack([vectors[word] for word in words]))
    q, k, v = (x @ torch.tensor(matrices[name]) for name in ("query", "key", "value"))
    mask = torch.ones(3, 3, dtype=torch.bool).tril() & torch.tensor([word != PAD for word in words])
    assert found["mask"] == mask.tolist()
    weights = (q @ k.T / 8**0.5).masked_fill(~mask, -torch.inf).softmax(dim=-1)
    np.testing.assert_allclose(np.array(found["weights"], float), weights.numpy(), atol=1e-12)
    np.testing.assert_allclose(np.array(found["out"], float), (weights @ v).numpy(), atol=1e-12)
    seen = mask.any(dim=-1)
    expected = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask[None])[0]
    np.testing.assert_allclose(np.array(found["out"], float)[seen], expected.numpy()[seen], atol=1e-9)
    assert bool(weights.isnan().any()) == (side == "left")
