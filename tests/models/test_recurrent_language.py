from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.models.configs import GRUTextConfig, LSTMTextConfig, RecurrentTextConfig, RNNTextConfig
from explorer.models.gru import GRULanguageModel
from explorer.models.layers import learning, replica, stack
from explorer.models.lstm import LSTMLanguageModel
from explorer.models.recurrence import RecurrentLanguageModel
from explorer.models.rnn import RNNLanguageModel
from explorer.models.taps import record, tap_names

VOCABULARY, BATCH, TIME, WIDTH, HIDDEN = 13, 3, 11, 5, 7
MODELS: dict[str, tuple[type[RecurrentTextConfig], Callable[..., RecurrentLanguageModel], type[nn.RNNBase]]] = {
    "rnn": (RNNTextConfig, RNNLanguageModel, nn.RNN),
    "lstm": (LSTMTextConfig, LSTMLanguageModel, nn.LSTM),
    "gru": (GRUTextConfig, GRULanguageModel, nn.GRU),
}
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
PATHS = {"fused": lambda model: nullcontext(), "watched": record}
IDS = torch.randint(VOCABULARY, (BATCH, TIME), generator=Generator().manual_seed(3))

pytestmark = pytest.mark.parametrize("name", MODELS)


def made(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def model(name: str, seed: int = 1, layers: int = 2, **settings: object) -> RecurrentLanguageModel:
    config, kind, _ = MODELS[name]
    return kind(
        config(**{"width": WIDTH, "hidden": HIDDEN, "layers": layers, **settings}), VOCABULARY, TIME, made(seed)
    )


def assert_close(one: Tensor | None, other: Tensor | None) -> None:
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def answer_and_gradients(model: RecurrentLanguageModel, ids: Tensor) -> list[Tensor]:
    logits = model(ids)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    return [logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))]


@pytest.mark.parametrize("path", PATHS)
def test_two_layers_equal_torch_forward_and_backward(name: str, path: str) -> None:
    ours, theirs = model(name), MODELS[name][2](WIDTH, HIDDEN, num_layers=2, batch_first=True)
    places = {
        f"cells.{layer}.{here}.{kind}": f"{kind}_{there}_l{layer}"
        for layer in range(2)
        for here, there in (("input", "ih"), ("recurrent", "hh"))
        for kind in ("weight", "bias")
    }
    theirs.load_state_dict({there: ours.get_parameter(here).detach() for here, there in places.items()})
    with PATHS[path](ours):
        logits = ours(IDS)
    embedding = ours.embedding.weight.detach().clone().requires_grad_()
    expected = theirs(embedding[IDS])[0] @ ours.readout.weight.mT + ours.readout.bias
    assert_close(logits, expected)
    towards = torch.randn(expected.shape, generator=made(5))
    (logits * towards).sum().backward()
    (expected * towards).sum().backward()
    assert_close(ours.embedding.weight.grad, embedding.grad)
    for here, there in places.items():
        assert_close(ours.get_parameter(here).grad, theirs.get_parameter(there).grad)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("path", PATHS)
def test_reading_in_pieces_with_carried_state_is_reading_at_once(name: str, path: str, layers: int) -> None:
    reader = model(name, layers=layers)
    whole, end = reader.features(IDS)
    state, pieces = (), []
    for piece in (IDS[:, :4], IDS[:, 4:5], IDS[:, 5:]):
        with PATHS[path](reader):
            features, state = reader.features(piece, state)
        pieces.append(features)
    assert_close(torch.cat(pieces, dim=1), whole)
    assert len(state) == len(end) == layers * (2 if name == "lstm" else 1)
    for one, other in zip(state, end, strict=True):
        assert one.shape == (BATCH, HIDDEN)
        assert_close(one, other)
    assert not torch.allclose(reader.features(IDS[:, 5:])[0], pieces[-1])  # from zeros


def test_state_lists_the_layers_from_the_first_to_the_last_hidden_state_before_memory(name: str) -> None:
    reader = model(name)
    with record(reader) as trace:
        features, state = reader.features(IDS)
    taps = ["state", "memory"] if name == "lstm" else ["state"]
    for value, tap in zip(state, [f"cells.{layer}.{tap}" for layer in range(2) for tap in taps], strict=True):
        assert_close(value, trace[tap][:, -1])
    assert_close(features[:, -1], trace["cells.1.state"][:, -1])


@pytest.mark.parametrize("stacked", [False, True], ids=["solo", "stacked"])
def test_watched_path_equals_the_fused_one(name: str, stacked: bool) -> None:
    reader = stack([model(name, seed) for seed in range(3)]) if stacked else model(name)
    ids = torch.stack([IDS, IDS.flip(0), IDS.flip(1)]) if stacked else IDS
    fused = answer_and_gradients(reader, ids)
    with record(reader):
        watched = answer_and_gradients(reader, ids)
    for one, other in zip(fused, watched, strict=True):
        assert_close(one, other)


def test_replica_of_a_stack_answers_as_the_solo_model_and_carries_its_state(name: str) -> None:
    models = [model(name, seed) for seed in range(3)]
    together = stack(models)
    ids = torch.stack([IDS, IDS.flip(0), IDS.flip(1)])
    _, state = together.features(ids[..., :5])
    features, end = together.features(ids[..., 5:], state)
    for r, solo in enumerate(models):
        expected, solo_end = solo.features(ids[r])
        assert_close(features[r], expected[:, 5:])
        assert_close(replica(together, r)(ids[r]), solo(ids[r]))
        for one, other in zip(end, solo_end, strict=True):
            assert_close(one[r], other)


@pytest.mark.parametrize("path", PATHS)
def test_a_later_token_changes_no_earlier_logit(name: str, path: str) -> None:
    reader, changed = model(name), IDS.clone()
    changed[:, 6] = (changed[:, 6] + 1) % VOCABULARY
    with PATHS[path](reader):
        one = reader(IDS)
    with PATHS[path](reader):
        other = reader(changed)
    assert torch.equal(one[:, :6], other[:, :6])
    assert (one[:, 6:] != other[:, 6:]).any(-1).all()


def test_gradients_run_back_into_a_state_until_it_is_detached(name: str) -> None:
    reader = model(name)
    _, state = reader.features(IDS[:, :5])
    features, _ = reader.features(IDS[:, 5:], state)
    early = torch.autograd.grad(features.sum(), state[0], retain_graph=True)[0]
    assert early.abs().sum() > 0
    features, _ = reader.features(IDS[:, 5:], tuple(part.detach() for part in state))
    assert torch.autograd.grad(features.sum(), state[0], allow_unused=True) == (None,)


# ---- dropout


def test_dropout_leaves_out_units_inside_of_learning_only(name: str) -> None:
    reader = model(name, dropout=0.5)
    usual = reader(IDS)
    assert torch.equal(usual, reader(IDS))
    assert torch.equal(usual, model(name)(IDS))
    with learning([made(1)]):
        one, _ = reader.features(IDS)
    with learning([made(1)]):
        again, _ = reader.features(IDS)
    with learning([made(2)]):
        other, _ = reader.features(IDS)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    left_out = one == 0  # before the readout, the same units at every time of a row
    assert torch.equal(left_out.any(1), left_out.all(1))
    assert 0 < left_out.sum() < left_out.numel()


def test_dropout_stands_between_layers_too(name: str) -> None:
    """The upper cell's state differs from the plain one; the lower one's, with nothing left out below it, does not."""
    reader = model(name, dropout=0.5)
    _, plain = reader.features(IDS)
    with learning([made(1)]):
        _, dropped = reader.features(IDS)
    each = len(plain) // 2
    for below in range(each):
        assert torch.equal(plain[below], dropped[below])
    assert not torch.allclose(plain[each], dropped[each])


def test_replicas_leave_out_what_they_leave_out_alone(name: str) -> None:
    models = [model(name, seed, dropout=0.5) for seed in range(2)]
    with learning([made(5), made(6)]):
        together = stack(models)(IDS.expand(2, -1, -1))
    for r, solo in enumerate(models):
        with learning([made(5 + r)]):
            assert_close(together[r], solo(IDS))


# ---- starts


def gates(reader: RecurrentLanguageModel, name: str) -> list[Tensor]:
    return [gate for cell in reader.cells for gate in cell.recurrent.weight.detach().chunk(GATES[name])]


def test_orthogonal_start_makes_each_gate_a_rotation(name: str) -> None:
    drawn = gates(model(name, start="orthogonal", hidden=16), name)
    assert len(drawn) == 2 * GATES[name]
    for i, gate in enumerate(drawn):
        torch.testing.assert_close(gate @ gate.mT, torch.eye(16), atol=1e-5, rtol=0)
        assert all(not torch.allclose(gate, other) for other in drawn[:i])


@pytest.mark.parametrize(("start", "bound"), [("uniform", 48**-0.5), ("xavier", (6 / 96) ** 0.5)])
def test_start_lies_within_its_bound_and_fills_it(name: str, start: str, bound: float) -> None:
    for gate in gates(model(name, start=start, hidden=48), name):
        assert 0.98 * bound < gate.abs().max() <= bound
        assert gate.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


@pytest.mark.parametrize("start", ["xavier", "orthogonal"])
def test_start_changes_the_recurrent_matrices_and_nothing_else(name: str, start: str) -> None:
    usual, other = model(name).state_dict(), model(name, start=start).state_dict()
    assert {key for key in usual if not torch.equal(usual[key], other[key])} == {
        f"cells.{layer}.recurrent.weight" for layer in range(2)
    }


@pytest.mark.parametrize("start", ["uniform", "xavier", "orthogonal"])
def test_start_is_the_same_for_ever_and_draws_from_no_global_generator(name: str, start: str) -> None:
    before = torch.get_rng_state()
    one, again, other = model(name, start=start), model(name, start=start), model(name, seed=2, start=start)
    assert torch.equal(torch.get_rng_state(), before)
    for value, same, different in zip(one.parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(value, same)
        assert not torch.equal(value, different)
    first, second = answer_and_gradients(one, IDS), answer_and_gradients(again, IDS)
    assert all(torch.equal(value, same) for value, same in zip(first, second, strict=True))


def test_more_layers_start_as_fewer_with_others_on_top(name: str) -> None:
    one, three = model(name, layers=1).state_dict(), model(name, layers=3).state_dict()
    assert all(torch.equal(one[key], three[key]) for key in one)


# ---- taps

TAPS = {
    "rnn": ["state"],
    "lstm": ["candidate", "forget_gate", "input_gate", "memory", "output_gate", "state"],
    "gru": ["candidate", "reset_gate", "state", "update_gate"],
}


def test_tap_names_are_part_of_the_file_format(name: str) -> None:
    reader = model(name)
    expected = [*(f"cells.{layer}.{tap}" for layer in range(2) for tap in TAPS[name]), "embedded"]
    assert sorted(tap_names(reader).values()) == expected
    with record(reader) as trace:
        reader(IDS)
    assert sorted(trace) == expected
    assert trace["cells.1.state"].shape == (BATCH, TIME, HIDDEN)
