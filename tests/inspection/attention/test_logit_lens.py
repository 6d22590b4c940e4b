from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import attend
from explorer.inspection.attention.attention_model import attention_model
from explorer.inspection.attention.head_ablation import Ablation
from explorer.inspection.attention.logit_lens import head_activations, most_probable_by_depth, tap_arrays
from explorer.inspection.load_model import load_model
from explorer.models.taps import record, tap_names
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY

IDS = tuple(range(20, 45))
PADDED = (*VOCABULARY.encode(("human", "preserve", "nature")), VOCABULARY.id("<PAD>"))
RUNS = {"text-transformer": IDS, "text-warmup-post-warm-0.01": IDS, "negation-double-transformer": PADDED}


def loaded(name: str) -> torch.nn.Module:
    return load_model(store.find(name)).single_replica(0)


@pytest.mark.parametrize("name", RUNS)
def test_each_depth_is_read_out_and_activations_follow_from_each_other(name: str) -> None:
    model, ids = loaded(name), RUNS[name]
    with record(model) as trace:
        model(torch.tensor([ids]))
    outcomes, probabilities = most_probable_by_depth(model, ids)
    for depth, tap in enumerate(["embedded", *(f"blocks.{i}.output" for i in range(len(model.blocks)))]):
        x = trace[tap][0]
        lens = model.readout(x[:1] if "negation" in name else model.final_norm(x)).softmax(-1).numpy()
        np.testing.assert_array_equal(outcomes[depth], lens.argmax(axis=-1))
        np.testing.assert_allclose(probabilities[depth], lens.max(axis=-1), atol=1e-5)
    ablation = Ablation(zero_ablated=frozenset({(0, 0)}))
    answers = attend(model, ids, ablation).log_probabilities
    np.testing.assert_array_equal(most_probable_by_depth(model, ids, ablation)[0][-1], answers.argmax(axis=-1))
    np.testing.assert_allclose(
        most_probable_by_depth(model, ids, ablation)[1][-1], np.exp(answers).max(axis=-1), atol=1e-5
    )
    arrays = tap_arrays(model, ids)
    assert set(arrays) == set(trace) == set(tap_names(model).values())
    for tap, value in arrays.items():
        np.testing.assert_array_equal(value, (trace[tap] if tap.endswith(".mask") else trace[tap][0]).numpy())
    layer, head = len(model.blocks) - 1, model.blocks[0].attention.heads - 1
    recorded, weights = head_activations(model, ids, layer, head), attend(model, ids).weights[layer, head]
    real = ~np.isnan(weights).all(axis=1)
    np.testing.assert_array_equal(np.isinf(recorded.mask), np.isnan(weights))
    scores = recorded.queries @ recorded.keys.T / recorded.queries.shape[1] ** 0.5
    shares = np.exp((scores + recorded.mask)[real])
    np.testing.assert_allclose(np.nan_to_num(recorded.weights[real]), shares / shares.sum(-1, keepdims=True), atol=1e-5)
    np.testing.assert_array_equal(recorded.weights, weights)
    mixed = trace[attention_model(model).tap(layer, "mixed")][0, head].numpy()
    np.testing.assert_allclose(mixed[real], np.nan_to_num(recorded.weights[real]) @ recorded.values, atol=1e-4)


def test_a_head_that_a_model_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="no head 0 in layer 4"):
        head_activations(loaded("text-transformer"), IDS, 4, 0)
