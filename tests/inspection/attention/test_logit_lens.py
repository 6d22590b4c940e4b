from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import Ablation, attend
from explorer.inspection.attention.logit_lens import head_activations, logit_lens, most_probable_by_depth, tap_arrays
from explorer.inspection.load_model import load_model
from explorer.models.taps import record, tap_names
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY

IDS = tuple(range(20, 45))
SENTENCE = VOCABULARY.encode(("human", "not", "preserve", "nature"))
PADDED = (*VOCABULARY.encode(("human", "preserve", "nature")), VOCABULARY.id("<PAD>"))
RUNS = {
    "text-transformer": IDS,
    "text-assignment": IDS[:15],
    "text-warmup-post-warm-0.01": IDS,
    "negation-single-transformer": SENTENCE,
    "negation-double-transformer": PADDED,
}
EVERY_RUN = pytest.mark.parametrize("name", RUNS)


def loaded(name: str) -> torch.nn.Module:
    return load_model(store.find(name)).single_replica(0)


@EVERY_RUN
def test_the_lens_at_the_last_layer_equals_the_model(name: str) -> None:
    model, ids = loaded(name), RUNS[name]
    for ablation in (Ablation(), Ablation(zero_ablated=frozenset({(0, 0)}))):
        lens, answers = logit_lens(model, ids, ablation), attend(model, ids, ablation).log_probabilities
        assert lens.shape == (len(model.blocks) + 1, *answers.shape)
        np.testing.assert_allclose(lens[-1], answers, atol=1e-5)
        np.testing.assert_allclose(np.exp(lens).sum(axis=-1), 1, atol=1e-5)
        assert np.abs(lens[0] - lens[-1]).max() > 0.1


@EVERY_RUN
def test_each_depth_is_read_out_from_its_residual_stream(name: str) -> None:
    model, ids = loaded(name), RUNS[name]
    with record(model) as trace:
        model(torch.tensor([ids]))
    lens = logit_lens(model, ids)
    for depth, tap in enumerate(["embedded", *(f"blocks.{i}.output" for i in range(len(model.blocks)))]):
        x = trace[tap][0]
        x = x[:1] if "negation" in name else model.final_norm(x)
        np.testing.assert_allclose(lens[depth], model.readout(x).log_softmax(-1), atol=1e-5)


@EVERY_RUN
def test_the_most_probable_outcome_of_each_depth_is_that_of_the_lens(name: str) -> None:
    model, ids = loaded(name), RUNS[name]
    outcomes, probabilities = most_probable_by_depth(model, ids)
    lens = np.exp(logit_lens(model, ids))
    np.testing.assert_array_equal(outcomes, lens.argmax(axis=-1))
    np.testing.assert_allclose(probabilities, lens.max(axis=-1), atol=1e-5)


def test_the_lens_can_be_restricted_to_one_position() -> None:
    model = loaded("text-transformer")
    np.testing.assert_allclose(logit_lens(model, IDS, position=7)[:, 0], logit_lens(model, IDS)[:, 7], atol=1e-5)
    assert logit_lens(loaded("negation-single-transformer"), SENTENCE, position=3).shape == (2, 1, 2)


@EVERY_RUN
def test_head_activations_follow_from_each_other(name: str) -> None:
    model, ids = loaded(name), RUNS[name]
    layer, head = len(model.blocks) - 1, model.blocks[0].attention.heads - 1
    recorded = head_activations(model, ids, layer, head)
    weights = attend(model, ids).weights[layer, head]
    width = recorded.queries.shape[1]
    real = ~np.isnan(weights).all(axis=1)
    np.testing.assert_allclose(recorded.raw, recorded.queries @ recorded.keys.T, atol=1e-4)
    np.testing.assert_allclose(recorded.scaled, recorded.raw / width**0.5, atol=1e-4)
    np.testing.assert_array_equal(np.isinf(recorded.mask), np.isnan(weights))
    shares = np.exp((recorded.scaled + recorded.mask)[real])
    np.testing.assert_allclose(np.nan_to_num(recorded.weights[real]), shares / shares.sum(-1, keepdims=True), atol=1e-5)
    np.testing.assert_array_equal(recorded.weights, weights)
    np.testing.assert_allclose(recorded.mixed[real], np.nan_to_num(recorded.weights[real]) @ recorded.values, atol=1e-4)


def test_head_activations_under_ablations() -> None:
    model = loaded("text-transformer")
    before = head_activations(model, IDS, 1, 2)
    flat = head_activations(model, IDS, 1, 2, Ablation(uniform_attention=frozenset({(1, 2)})))
    np.testing.assert_array_equal(flat.scaled, before.scaled)
    np.testing.assert_allclose(flat.weights[4, :5], 0.2, atol=1e-6)
    assert not head_activations(model, IDS, 1, 2, Ablation(zero_ablated=frozenset({(1, 2)}))).mixed.any()
    lifted = head_activations(model, IDS, 1, 2, Ablation(no_causal_mask=True))
    assert not lifted.mask.any() and not np.isnan(lifted.weights).any()
    no_positions = head_activations(model, IDS, 0, 0, Ablation(no_positions=True))
    same = head_activations(model, (IDS[0],) * 5, 0, 0, Ablation(no_positions=True)).queries
    np.testing.assert_allclose(same, np.broadcast_to(no_positions.queries[0], same.shape), atol=1e-5)


@pytest.mark.parametrize(("layer", "head"), [(4, 0), (0, 4), (-1, 0)])
def test_a_missing_head_is_rejected(layer: int, head: int) -> None:
    with pytest.raises(InvalidSetting, match=f"no head {head} in layer {layer}. Give a layer from 0 to 3"):
        head_activations(loaded("text-transformer"), IDS, layer, head)


@EVERY_RUN
def test_tap_arrays_have_the_names_and_values_of_the_taps(name: str) -> None:
    model, ids = loaded(name), RUNS[name]
    arrays = tap_arrays(model, ids)
    with record(model) as trace:
        model(torch.tensor([ids]))
    assert set(arrays) == set(trace) == set(tap_names(model).values())
    for tap, value in arrays.items():
        own = trace[tap] if tap.endswith(".mask") else trace[tap][0]
        np.testing.assert_array_equal(value, own.numpy())
    heads, time = model.blocks[0].attention.heads, len(ids)
    assert arrays["blocks.0.attention.weights"].shape == (heads, time, time)
