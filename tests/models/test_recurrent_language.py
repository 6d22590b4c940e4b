from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
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


def test_dropout_is_active_only_during_learning(name: str) -> None:
    reader = build_model(name, dropout=0.5)
    undropped, end = reader.features(IDS)
    assert torch.equal(undropped, build_model(name).features(IDS)[0])
    with learning([seeded(1)]):
        dropped, state = reader.features(IDS)
    lower, upper = 0, len(state) // 2  # dropout changes the input of the upper cell only
    assert torch.equal(end[lower], state[lower]) and not torch.allclose(end[upper], state[upper])
    left_out = dropped == 0  # dropout zeroes the same units at every position of a row
    assert torch.equal(left_out.any(1), left_out.all(1)) and 0 < left_out.sum() < left_out.numel()


def gates(reader: RecurrentLanguageModel, name: str) -> list[Tensor]:
    return [gate for cell in reader.cells for gate in cell.recurrent.weight.detach().chunk(GATES[name])]


def test_orthogonal_initialization_makes_each_gate_orthogonal(name: str) -> None:
    matrices = gates(build_model(name, start="orthogonal", hidden=16), name)
    assert len(matrices) == 2 * GATES[name]
    for i, gate in enumerate(matrices):
        torch.testing.assert_close(gate @ gate.mT, torch.eye(16), atol=1e-5, rtol=0)
        assert all(not torch.allclose(gate, other) for other in matrices[:i])


@pytest.mark.parametrize("initialization", ["xavier", "orthogonal"])
def test_the_initialization_setting_changes_only_the_recurrent_matrices(name: str, initialization: str) -> None:
    default, changed = build_model(name).state_dict(), build_model(name, start=initialization).state_dict()
    assert {key for key in default if not torch.equal(default[key], changed[key])} == {
        f"cells.{layer}.recurrent.weight" for layer in range(2)
    }


def test_tap_names_are_part_of_the_file_format(name: str, snapshot: SnapshotAssertion) -> None:
    reader = build_model(name)
    with record(reader) as trace:
        reader(IDS)
    assert snapshot == sorted(trace)
    assert sorted(tap_names(reader).values()) == sorted(trace)
    assert trace["cells.1.state"].shape == (BATCH, TIME, HIDDEN)
