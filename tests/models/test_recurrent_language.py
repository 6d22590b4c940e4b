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
PATHS = {"fused": lambda network: nullcontext(), "watched": record}
IDS = torch.randint(VOCABULARY, (BATCH, TIME), generator=Generator().manual_seed(3))

pytestmark = pytest.mark.parametrize("name", MODELS)


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def build_model(name: str, seed: int = 1, layers: int = 2, **settings: object) -> RecurrentLanguageModel:
    config, kind, _ = MODELS[name]
    return kind(
        config(**{"width": WIDTH, "hidden": HIDDEN, "layers": layers, **settings}), VOCABULARY, TIME, seeded(seed)
    )


def assert_close(actual: Tensor | None, expected: Tensor | None) -> None:
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def logits_and_gradients(network: RecurrentLanguageModel, ids: Tensor) -> list[Tensor]:
    logits = network(ids)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    return [logits, *torch.autograd.grad((logits * weights).sum(), list(network.parameters()))]


@pytest.mark.parametrize("path", PATHS)
def test_two_layers_equal_torch_forward_and_backward(name: str, path: str) -> None:
    own_model, torch_model = build_model(name), MODELS[name][2](WIDTH, HIDDEN, num_layers=2, batch_first=True)
    torch_names = {
        f"cells.{layer}.{own_name}.{kind}": f"{kind}_{torch_name}_l{layer}"
        for layer in range(2)
        for own_name, torch_name in (("input", "ih"), ("recurrent", "hh"))
        for kind in ("weight", "bias")
    }
    torch_model.load_state_dict(
        {torch_name: own_model.get_parameter(own_name).detach() for own_name, torch_name in torch_names.items()}
    )
    with PATHS[path](own_model):
        logits = own_model(IDS)
    embedding = own_model.embedding.weight.detach().clone().requires_grad_()
    expected = torch_model(embedding[IDS])[0] @ own_model.readout.weight.mT + own_model.readout.bias
    assert_close(logits, expected)
    output_weights = torch.randn(expected.shape, generator=seeded(5))
    (logits * output_weights).sum().backward()
    (expected * output_weights).sum().backward()
    assert_close(own_model.embedding.weight.grad, embedding.grad)
    for own_name, torch_name in torch_names.items():
        assert_close(own_model.get_parameter(own_name).grad, torch_model.get_parameter(torch_name).grad)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("path", PATHS)
def test_carried_state_makes_reading_in_pieces_equal_to_reading_at_once(name: str, path: str, layers: int) -> None:
    reader = build_model(name, layers=layers)
    expected, end = reader.features(IDS)
    state, pieces = (), []
    for piece in (IDS[:, :4], IDS[:, 4:5], IDS[:, 5:]):
        with PATHS[path](reader):
            features, state = reader.features(piece, state)
        pieces.append(features)
    assert_close(torch.cat(pieces, dim=1), expected)
    assert len(state) == len(end) == layers * (2 if name == "lstm" else 1)
    for one, other in zip(state, end, strict=True):
        assert one.shape == (BATCH, HIDDEN)
        assert_close(one, other)
    assert not torch.allclose(reader.features(IDS[:, 5:])[0], pieces[-1])  # from zeros


def test_the_state_lists_layers_in_order_with_the_hidden_state_before_the_memory(name: str) -> None:
    reader = build_model(name)
    with record(reader) as trace:
        features, state = reader.features(IDS)
    taps = ["state", "memory"] if name == "lstm" else ["state"]
    for value, tap in zip(state, [f"cells.{layer}.{tap}" for layer in range(2) for tap in taps], strict=True):
        assert_close(value, trace[tap][:, -1])
    assert_close(features[:, -1], trace["cells.1.state"][:, -1])


@pytest.mark.parametrize("stacked", [False, True], ids=["solo", "stacked"])
def test_recording_gives_the_same_logits_and_gradients(name: str, stacked: bool) -> None:
    reader = stack([build_model(name, seed) for seed in range(3)]) if stacked else build_model(name)
    ids = torch.stack([IDS, IDS.flip(0), IDS.flip(1)]) if stacked else IDS
    fused = logits_and_gradients(reader, ids)
    with record(reader):
        watched = logits_and_gradients(reader, ids)
    for one, other in zip(fused, watched, strict=True):
        assert_close(one, other)


def test_a_replica_of_a_stack_equals_the_single_model_including_its_state(name: str) -> None:
    models = [build_model(name, seed) for seed in range(3)]
    stacked_model = stack(models)
    ids = torch.stack([IDS, IDS.flip(0), IDS.flip(1)])
    _, state = stacked_model.features(ids[..., :5])
    features, end = stacked_model.features(ids[..., 5:], state)
    for r, solo in enumerate(models):
        expected, solo_end = solo.features(ids[r])
        assert_close(features[r], expected[:, 5:])
        assert_close(replica(stacked_model, r)(ids[r]), solo(ids[r]))
        for one, other in zip(end, solo_end, strict=True):
            assert_close(one[r], other)


@pytest.mark.parametrize("path", PATHS)
def test_a_later_token_changes_no_earlier_logit(name: str, path: str) -> None:
    reader, changed = build_model(name), IDS.clone()
    changed[:, 6] = (changed[:, 6] + 1) % VOCABULARY
    with PATHS[path](reader):
        one = reader(IDS)
    with PATHS[path](reader):
        other = reader(changed)
    assert torch.equal(one[:, :6], other[:, :6])
    assert (one[:, 6:] != other[:, 6:]).any(-1).all()


def test_gradients_flow_into_a_carried_state_unless_it_is_detached(name: str) -> None:
    reader = build_model(name)
    _, state = reader.features(IDS[:, :5])
    features, _ = reader.features(IDS[:, 5:], state)
    early = torch.autograd.grad(features.sum(), state[0], retain_graph=True)[0]
    assert early.abs().sum() > 0
    features, _ = reader.features(IDS[:, 5:], tuple(part.detach() for part in state))
    assert torch.autograd.grad(features.sum(), state[0], allow_unused=True) == (None,)


# ---- dropout


def test_dropout_is_active_only_during_learning(name: str) -> None:
    reader = build_model(name, dropout=0.5)
    undropped = reader(IDS)
    assert torch.equal(undropped, reader(IDS))
    assert torch.equal(undropped, build_model(name)(IDS))
    with learning([seeded(1)]):
        dropped, _ = reader.features(IDS)
    with learning([seeded(1)]):
        repeated, _ = reader.features(IDS)
    with learning([seeded(2)]):
        other_seed, _ = reader.features(IDS)
    assert torch.equal(dropped, repeated)
    assert not torch.equal(dropped, other_seed)
    left_out = dropped == 0  # dropout zeroes the same units at every position of a row
    assert torch.equal(left_out.any(1), left_out.all(1))
    assert 0 < left_out.sum() < left_out.numel()


def test_dropout_is_applied_between_layers(name: str) -> None:
    """Dropout changes the state of the upper cell and not that of the lower one, whose input has no dropout."""
    reader = build_model(name, dropout=0.5)
    _, undropped = reader.features(IDS)
    with learning([seeded(1)]):
        _, dropped = reader.features(IDS)
    states_per_layer = len(undropped) // 2
    for below in range(states_per_layer):
        assert torch.equal(undropped[below], dropped[below])
    assert not torch.allclose(undropped[states_per_layer], dropped[states_per_layer])


def test_dropout_masks_of_a_stack_equal_those_of_single_models(name: str) -> None:
    models = [build_model(name, seed, dropout=0.5) for seed in range(2)]
    with learning([seeded(5), seeded(6)]):
        stacked_logits = stack(models)(IDS.expand(2, -1, -1))
    for r, solo in enumerate(models):
        with learning([seeded(5 + r)]):
            assert_close(stacked_logits[r], solo(IDS))


# ---- initialization


def gates(reader: RecurrentLanguageModel, name: str) -> list[Tensor]:
    return [gate for cell in reader.cells for gate in cell.recurrent.weight.detach().chunk(GATES[name])]


def test_orthogonal_initialization_makes_each_gate_orthogonal(name: str) -> None:
    matrices = gates(build_model(name, start="orthogonal", hidden=16), name)
    assert len(matrices) == 2 * GATES[name]
    for i, gate in enumerate(matrices):
        torch.testing.assert_close(gate @ gate.mT, torch.eye(16), atol=1e-5, rtol=0)
        assert all(not torch.allclose(gate, other) for other in matrices[:i])


@pytest.mark.parametrize(("initialization", "bound"), [("uniform", 48**-0.5), ("xavier", (6 / 96) ** 0.5)])
def test_initial_weights_cover_the_range_up_to_their_bound(name: str, initialization: str, bound: float) -> None:
    for gate in gates(build_model(name, start=initialization, hidden=48), name):
        assert 0.98 * bound < gate.abs().max() <= bound
        assert gate.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


@pytest.mark.parametrize("initialization", ["xavier", "orthogonal"])
def test_the_initialization_setting_changes_only_the_recurrent_matrices(name: str, initialization: str) -> None:
    default, changed = build_model(name).state_dict(), build_model(name, start=initialization).state_dict()
    assert {key for key in default if not torch.equal(default[key], changed[key])} == {
        f"cells.{layer}.recurrent.weight" for layer in range(2)
    }


@pytest.mark.parametrize("initialization", ["uniform", "xavier", "orthogonal"])
def test_initialization_follows_from_the_seed_and_ignores_the_global_generator(name: str, initialization: str) -> None:
    before = torch.get_rng_state()
    model, same_seed, other_seed = (
        build_model(name, start=initialization),
        build_model(name, start=initialization),
        build_model(name, seed=2, start=initialization),
    )
    assert torch.equal(torch.get_rng_state(), before)
    for value, same, different in zip(model.parameters(), same_seed.parameters(), other_seed.parameters(), strict=True):
        assert torch.equal(value, same)
        assert not torch.equal(value, different)
    first, second = logits_and_gradients(model, IDS), logits_and_gradients(same_seed, IDS)
    assert all(torch.equal(value, same) for value, same in zip(first, second, strict=True))


def test_additional_layers_do_not_change_the_initialization_of_the_others(name: str) -> None:
    one, three = build_model(name, layers=1).state_dict(), build_model(name, layers=3).state_dict()
    assert all(torch.equal(one[key], three[key]) for key in one)


# ---- taps

TAPS = {
    "rnn": ["state"],
    "lstm": ["candidate", "forget_gate", "input_gate", "memory", "output_gate", "state"],
    "gru": ["candidate", "reset_gate", "state", "update_gate"],
}


def test_tap_names_are_part_of_the_file_format(name: str) -> None:
    reader = build_model(name)
    expected = [*(f"cells.{layer}.{tap}" for layer in range(2) for tap in TAPS[name]), "embedded"]
    assert sorted(tap_names(reader).values()) == expected
    with record(reader) as trace:
        reader(IDS)
    assert sorted(trace) == expected
    assert trace["cells.1.state"].shape == (BATCH, TIME, HIDDEN)
