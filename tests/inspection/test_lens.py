from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.attention import Touch, attend
from explorer.inspection.lens import inside, lens, named_arrays
from explorer.inspection.opening import open_model
from explorer.models.taps import record, tap_names
from explorer.tasks.negation import VOCABULARY
from explorer.training import store

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


def opened(name: str) -> torch.nn.Module:
    return open_model(store.find(name)).alone(0)


@EVERY_RUN
def test_the_last_layer_answers_as_the_model_does(name: str) -> None:
    model, ids = opened(name), RUNS[name]
    for touch in (Touch(), Touch(off=frozenset({(0, 0)}))):
        found, answers = lens(model, ids, touch), attend(model, ids, touch).answers
        assert found.shape == (len(model.blocks) + 1, *answers.shape)
        np.testing.assert_allclose(found[-1], answers, atol=1e-5)
        np.testing.assert_allclose(np.exp(found).sum(axis=-1), 1, atol=1e-5)
        assert np.abs(found[0] - found[-1]).max() > 0.1


@EVERY_RUN
def test_each_depth_is_read_off_what_stands_there(name: str) -> None:
    model, ids = opened(name), RUNS[name]
    with record(model) as trace:
        model(torch.tensor([ids]))
    found = lens(model, ids)
    for depth, tap in enumerate(["embedded", *(f"blocks.{i}.output" for i in range(len(model.blocks)))]):
        x = trace[tap][0]
        x = x[:1] if "negation" in name else model.final_norm(x)
        np.testing.assert_allclose(found[depth], model.readout(x).log_softmax(-1), atol=1e-5)


def test_one_token_can_be_asked_alone() -> None:
    model = opened("text-transformer")
    np.testing.assert_allclose(lens(model, IDS, asked=7)[:, 0], lens(model, IDS)[:, 7], atol=1e-5)
    assert lens(opened("negation-single-transformer"), SENTENCE, asked=3).shape == (2, 1, 2)


@EVERY_RUN
def test_a_head_can_be_walked_through(name: str) -> None:
    model, ids = opened(name), RUNS[name]
    layer, head = len(model.blocks) - 1, model.blocks[0].attention.heads - 1
    found = inside(model, ids, layer, head)
    seen = attend(model, ids).weights[layer, head]
    width = found.queries.shape[1]
    real = ~np.isnan(seen).all(axis=1)
    np.testing.assert_allclose(found.raw, found.queries @ found.keys.T, atol=1e-4)
    np.testing.assert_allclose(found.scaled, found.raw / width**0.5, atol=1e-4)
    np.testing.assert_array_equal(np.isinf(found.mask), np.isnan(seen))
    shares = np.exp((found.scaled + found.mask)[real])
    np.testing.assert_allclose(np.nan_to_num(found.weights[real]), shares / shares.sum(-1, keepdims=True), atol=1e-5)
    np.testing.assert_array_equal(found.weights, seen)
    np.testing.assert_allclose(found.mixed[real], np.nan_to_num(found.weights[real]) @ found.values, atol=1e-4)


def test_a_touched_head_is_shown_as_it_was_made() -> None:
    model = opened("text-transformer")
    before = inside(model, IDS, 1, 2)
    flat = inside(model, IDS, 1, 2, Touch(flat=frozenset({(1, 2)})))
    np.testing.assert_array_equal(flat.scaled, before.scaled)
    np.testing.assert_allclose(flat.weights[4, :5], 0.2, atol=1e-6)
    assert not inside(model, IDS, 1, 2, Touch(off=frozenset({(1, 2)}))).mixed.any()
    lifted = inside(model, IDS, 1, 2, Touch(unmasked=True))
    assert not lifted.mask.any() and not np.isnan(lifted.weights).any()
    unplaced = inside(model, IDS, 0, 0, Touch(unplaced=True))
    same = inside(model, (IDS[0],) * 5, 0, 0, Touch(unplaced=True)).queries
    np.testing.assert_allclose(same, np.broadcast_to(unplaced.queries[0], same.shape), atol=1e-5)


@pytest.mark.parametrize(("layer", "head"), [(4, 0), (0, 4), (-1, 0)])
def test_a_head_that_is_not_there_is_refused(layer: int, head: int) -> None:
    with pytest.raises(InvalidSetting, match=f"no head {head} in layer {layer}. Give a layer from 0 to 3"):
        inside(opened("text-transformer"), IDS, layer, head)


@EVERY_RUN
def test_arrays_have_the_names_of_the_taps_and_their_numbers(name: str) -> None:
    model, ids = opened(name), RUNS[name]
    found = named_arrays(model, ids)
    with record(model) as trace:
        model(torch.tensor([ids]))
    assert set(found) == set(trace) == set(tap_names(model).values())
    for tap, value in found.items():
        own = trace[tap] if tap.endswith(".mask") else trace[tap][0]
        np.testing.assert_array_equal(value, own.numpy())
    heads, time = model.blocks[0].attention.heads, len(ids)
    assert found["blocks.0.attention.weights"].shape == (heads, time, time)
