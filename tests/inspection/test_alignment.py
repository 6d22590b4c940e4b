from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.generation.translating import greedy
from explorer.inspection.alignment import TOUCHES, _changes, align, moved, touched
from explorer.models.configs import EncoderDecoderConfig, TransformerEncoderDecoderConfig
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.layers import stack
from explorer.models.taps import intervene, record, tap_names
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder
from explorer.models.translation import Translator
from explorer.tasks.dates import WAYS, DatesConfig
from explorer.tasks.digits import ReverseConfig, asked_lengths
from explorer.tasks.pairs import fresh_digits
from explorer.tasks.translation import longest_answer, source_tokens, target_tokens

CONFIG = ReverseConfig(longest=3, symbols=4)
KINDS = ("vector", "additive", "transformer")
SOURCE = (2, 0, 3)


def model(kind: str, seed: int = 1, config: ReverseConfig | DatesConfig = CONFIG) -> Translator:
    made = torch.Generator().manual_seed(seed)
    sizes = len(source_tokens(config)), len(target_tokens(config)), len(source_tokens(config)) - 1
    if kind == "transformer":
        return TransformerEncoderDecoder(TransformerEncoderDecoderConfig(width=8, heads=2, hidden=9), *sizes, made)
    attention = "additive" if kind == "additive" else "none"
    return EncoderDecoder(EncoderDecoderConfig(width=4, hidden=5, attention=attention), *sizes, made)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_and_taps_are_those_of_the_forward(kind: str) -> None:
    one = model(kind)
    found = align(one, CONFIG, SOURCE)
    ids = greedy(one, torch.tensor([SOURCE]), longest_answer(CONFIG, 3)).ids[0].tolist()
    assert (found.source, list(found.target)) == (SOURCE, ids)
    said = one(torch.tensor([SOURCE]), torch.tensor([[one.bos, *ids[:-1]]]))[0].softmax(dim=-1)
    np.testing.assert_allclose(found.probabilities, said.detach().numpy(), atol=1e-6)
    assert set(found.taps) == set(tap_names(one).values())
    given = align(one, CONFIG, SOURCE, (3, 0, 2))
    assert given.target == (3, 0, 2, one.eos)


def test_what_additive_attention_shows() -> None:
    one = model("additive")
    found = align(one, CONFIG, SOURCE, (3, 0, 2))
    assert found.weights is not None and found.energies is not None and found.contexts is not None
    assert found.weights.shape == found.energies.shape == (1, 1, 4, 3)
    e = np.exp(found.energies)
    np.testing.assert_allclose(found.weights, e / e.sum(axis=-1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(found.contexts, found.weights[0, 0] @ found.taps["attention.annotations"], atol=1e-6)
    assert found.vector is None and found.own_source is None and found.own_target is None


def test_what_a_transformer_shows() -> None:
    found = align(model("transformer"), CONFIG, SOURCE, (3, 0))
    assert found.weights is not None and found.own_source is not None and found.own_target is not None
    assert found.weights.shape == (2, 2, 3, 3) and found.own_source.shape == (2, 2, 3, 3)
    assert not np.triu(found.own_target, 1).any()
    np.testing.assert_array_equal(found.weights[1], found.taps["decoder.1.cross.weights"])
    assert found.contexts is None and found.vector is None


def test_what_the_vector_shows() -> None:
    found = align(model("vector"), CONFIG, SOURCE)
    assert found.vector is not None and found.vector.shape == (5,)
    assert found.weights is None and found.energies is None


def test_how_far_the_vector_moves_by_hand() -> None:
    one = model("vector")
    found = moved(one, SOURCE)
    for place in range(3):
        own = one.encode(torch.tensor([SOURCE]))[0][0]
        far = []
        for token in range(4):
            if token != SOURCE[place]:
                other = list(SOURCE)
                other[place] = token
                far.append((one.encode(torch.tensor([other]))[0][0] - own).norm().item())
        assert len(far) == 3
        assert found[place] == pytest.approx(sum(far) / 3, abs=1e-5)
    for kind in ("additive", "transformer"):
        with pytest.raises(InvalidSetting, match="one vector"):
            moved(model(kind), SOURCE)


@pytest.mark.parametrize("kind", KINDS)
def test_untouched_is_greedy_decoding_and_a_stack_is_each_of_its_models(kind: str) -> None:
    both = [model(kind, seed) for seed in (1, 2)]
    for touch in TOUCHES:
        if kind == "vector" and touch in ("uniform", "frozen"):
            continue
        alone = [touched(one, CONFIG, touch, count=5) for one in both]
        np.testing.assert_allclose(touched(stack(both), CONFIG, touch, count=5), alone, atol=1e-6)
        assert alone[0].shape == (len(asked_lengths(CONFIG)),)
    for i, length in enumerate(asked_lengths(CONFIG)):
        asked = fresh_digits(CONFIG, [length], 5)
        ids = greedy(both[0], asked.source, length + 1).ids
        ids = torch.nn.functional.pad(ids, (0, length + 1 - ids.shape[1]), value=both[0].eos)
        right = (ids == asked.wanted).all(dim=-1).float().mean()
        assert touched(both[0], CONFIG, "none", count=5)[i] == pytest.approx(float(right))


def test_dates_are_asked_way_by_way() -> None:
    config = DatesConfig()
    for kind in KINDS:
        assert touched(model(kind, config=config), config, "cut", count=2).shape == (len(WAYS),)


@pytest.mark.parametrize("kind", KINDS)
def test_cut_lets_nothing_of_the_source_through(kind: str) -> None:
    one, given = model(kind), torch.tensor([[4, 1, 1], [4, 1, 1]])
    source = torch.tensor([[0, 1, 2], [3, 3, 0]])
    assert not torch.allclose(*one(source, given), atol=1e-4)
    with intervene(one, _changes(one, "cut", source)):
        cut = one(source, given)
    torch.testing.assert_close(cut[0], cut[1])


@pytest.mark.parametrize("kind", ["additive", "transformer"])
@pytest.mark.parametrize("touch", ["uniform", "frozen"])
def test_where_a_touched_model_looks(kind: str, touch: str) -> None:
    one = model(kind)
    source = torch.tensor([[0, 1, 2], [3, 4, 4]])  # 4 is padding
    given = torch.tensor([[4, 1, 2], [4, 0, 3]])
    with record(one) as usual:
        one(source, given)
    with intervene(one, _changes(one, touch, source)), record(one) as trace:
        one(source, given)
    names = ["attention.weights"] if kind == "additive" else ["decoder.0.cross.weights", "decoder.1.cross.weights"]
    for name in names:
        weights = trace[name]
        if touch == "uniform":
            even = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]])
            shape = (2, 1, 3) if kind == "additive" else (2, 1, 1, 3)
            torch.testing.assert_close(weights, even.view(shape).expand_as(weights))
        else:
            torch.testing.assert_close(weights, weights[..., :1, :].expand_as(weights))
    if touch == "frozen":
        torch.testing.assert_close(trace[names[0]][..., 0, :], usual[names[0]][..., 0, :])


def test_a_vector_has_no_attention_to_touch() -> None:
    for touch in ("uniform", "frozen"):
        with pytest.raises(InvalidSetting, match=f"touch = {touch} is for a model with attention"):
            touched(model("vector"), CONFIG, touch, count=2)
    with pytest.raises(InvalidSetting, match=r"touch = other is not possible\. Give one of none, uniform"):
        touched(model("vector"), CONFIG, "other", count=2)
