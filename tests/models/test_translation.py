"""What holds for every model that translates."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from explorer.models.layers import replica, stack
from explorer.models.taps import record, tap_names
from explorer.models.translation import Translator
from tests.models.translators import KINDS, PADDING, TARGETS, sources, targets, translator

REPLICAS, BATCH = 3, 5


def answer_and_gradients(model: Translator, source: Tensor, target: Tensor) -> list[Tensor]:
    logits = model(source, target)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    return [logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))]


def stacked(kind: str) -> Translator:
    return stack([translator(kind, seed) for seed in range(REPLICAS)])


@pytest.mark.parametrize("several", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("kind", KINDS)
def test_watched_path_equals_the_plain_one(kind: str, several: bool) -> None:
    model = stacked(kind) if several else translator(kind)
    shape = (REPLICAS, BATCH) if several else (BATCH,)
    plain = answer_and_gradients(model, sources(*shape), targets(*shape))
    with record(model) as trace:
        watched = answer_and_gradients(model, sources(*shape), targets(*shape))
    assert len(trace) > 0
    for one, other in zip(plain, watched, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_replica_of_a_stack_answers_as_the_solo_model(kind: str) -> None:
    together = stacked(kind)
    source, target = sources(REPLICAS, BATCH), targets(REPLICAS, BATCH)
    answers = together(source, target)
    assert together.replicas == (REPLICAS,) and replica(together, 0).replicas == ()
    for r in range(REPLICAS):
        alone = translator(kind, r)
        torch.testing.assert_close(answers[r], alone(source[r], target[r]), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(replica(together, r)(source[r], target[r]), alone(source[r], target[r]))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_of_the_source_changes_nothing(kind: str) -> None:
    model, target = translator(kind), targets(1)
    short = torch.tensor([[0, 2, 5, 3, 1]])
    for more in (1, 3, 6):
        padded = torch.nn.functional.pad(short, (0, more), value=PADDING)
        torch.testing.assert_close(model(padded, target), model(short, target), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_see_each_other_and_nobody_sees_the_future(kind: str) -> None:
    model, source, target = translator(kind), sources(BATCH), targets(BATCH)
    whole = model(source, target)
    torch.testing.assert_close(whole[2:3], model(source[2:3], target[2:3]), atol=1e-5, rtol=1e-5)
    other = target.clone()
    other[:, -1] = (other[:, -1] + 1) % (TARGETS - 2)
    torch.testing.assert_close(model(source, other)[:, :-1], whole[:, :-1], atol=1e-6, rtol=1e-6)
    assert not torch.allclose(model(source, other)[:, -1], whole[:, -1], atol=1e-3)


@pytest.mark.parametrize("several", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("kind", KINDS)
def test_token_by_token_is_the_same_as_all_at_once(kind: str, several: bool) -> None:
    model = stacked(kind) if several else translator(kind)
    shape = (REPLICAS, BATCH) if several else (BATCH,)
    source, target = sources(*shape), targets(*shape)
    read, state, said = model.encode(source), (), []
    for part in (target[..., :1], target[..., 1:3], target[..., 3:]):
        logits, state = model.decode(read, part, state)
        said.append(logits)
    torch.testing.assert_close(torch.cat(said, dim=-2), model(source, target), atol=1e-5, rtol=1e-5)
    rows = len(shape) - 1  # the axis of the rows
    assert {part.shape[rows] for part in (*read, *state)} == {BATCH}


@pytest.mark.parametrize("kind", KINDS)
def test_every_token_of_the_source_and_its_place_matter(kind: str) -> None:
    model, target = translator(kind), targets(1)
    source = torch.tensor([[0, 2, 5, 3, 1]])
    answer = model(source, target)
    for place in range(5):
        other = source.clone()
        other[0, place] = 6
        assert not torch.allclose(model(other, target), answer, atol=1e-5), place
    assert not torch.allclose(model(source.flip(-1), target), answer, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_reaches_every_parameter(kind: str) -> None:
    model = translator(kind)
    model(sources(BATCH), targets(BATCH)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        # Keys need no bias, and have none; every other parameter moves the answer.
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_start_is_the_same_for_ever_and_draws_from_no_global_generator(kind: str) -> None:
    before = torch.get_rng_state()
    one, again, other = translator(kind), translator(kind), translator(kind, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    given = sources(BATCH), targets(BATCH)
    assert torch.equal(one(*given), again(*given))
    assert not torch.equal(one(*given), other(*given))


CELL = ("candidate", "reset_gate", "state", "update_gate")
LOOK = ("keys", "mixed", "queries", "scores", "values", "weights")
TAPS = {
    "vector": [
        "bridge",
        *(f"decoder.{t}" for t in CELL),
        "embedded",
        *(f"encoder.{t}" for t in CELL),
        "summary.vector",
    ],
    "additive": [
        *(f"attention.{t}" for t in ("annotations", "context", "energies", "weights")),
        *(f"backward_encoder.{t}" for t in CELL),
        "bridge",
        *(f"decoder.{t}" for t in CELL),
        "embedded",
        *(f"encoder.{t}" for t in CELL),
    ],
    "pre": sorted(
        [
            "annotations",
            "embedded_source",
            "embedded_target",
            *(f"{half}.{i}.output" for half in ("encoder", "decoder") for i in range(2)),
            *(f"{half}.{i}.attention.{t}" for half in ("encoder", "decoder") for i in range(2) for t in LOOK),
            *(f"decoder.{i}.cross.{t}" for i in range(2) for t in LOOK),
        ]
    ),
}


@pytest.mark.parametrize("kind", TAPS)
def test_tap_names_are_part_of_the_file_format(kind: str) -> None:
    model = translator(kind)
    assert sorted(tap_names(model).values()) == TAPS[kind]
    with record(model) as trace:
        model(sources(BATCH), targets(BATCH))
    assert sorted(trace) == TAPS[kind]


@pytest.mark.parametrize("several", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "vector"])
def test_attention_looks_at_what_there_is_and_nowhere_else(kind: str, several: bool) -> None:
    model = stacked(kind) if several else translator(kind)
    shape = (REPLICAS, BATCH) if several else (BATCH,)
    source = sources(*shape)
    with record(model) as trace:
        model(source, targets(*shape))
    padding = source == PADDING
    assert padding.any()
    for name in trace:
        if not name.endswith("weights"):
            continue
        weights = trace[name]
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        if name.startswith("decoder") and ".attention." in name:
            assert not weights.triu(1).any(), name  # what has not been written yet
        else:
            hidden = padding[..., None, :] if name == "attention.weights" else padding[..., None, None, :]
            assert not weights.masked_select(hidden.expand_as(weights)).any(), name
            seen = weights.masked_select(~hidden.expand_as(weights))
            assert (seen > 0).all(), name
