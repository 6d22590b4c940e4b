from __future__ import annotations

import pytest
import torch
from torch import Generator, nn

from explorer.models.configs import FeedforwardConfig
from explorer.models.feedforward import Feedforward
from explorer.training.adam import Adam


def network() -> Feedforward:
    return Feedforward(FeedforwardConfig(width=3, hidden=7, window=5), 11, 2, 10, Generator().manual_seed(1))


def test_fifty_steps_equal_those_of_torch() -> None:
    own_model, reference_model = network(), network()
    adam, reference = (
        Adam(own_model.parameters(), learning_rate=0.01),
        torch.optim.Adam(reference_model.parameters(), lr=0.01),
    )
    ids = torch.randint(11, (50, 13, 5), generator=Generator().manual_seed(2))
    labels = torch.randint(2, (50, 13), generator=Generator().manual_seed(3))
    for x, y in zip(ids, labels, strict=True):
        for model, optimiser in ((own_model, adam), (reference_model, reference)):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimiser.step()
        for value, expected in zip(own_model.parameters(), reference_model.parameters(), strict=True):
            torch.testing.assert_close(value, expected, atol=1e-6, rtol=1e-6)


def test_the_first_step_equals_one_computed_by_hand() -> None:
    model = nn.Linear(2, 1, bias=False)
    model.weight.data = torch.tensor([[3.0, -1.0]])
    adam = Adam(model.parameters(), learning_rate=0.1)
    adam.gradient.copy_(torch.tensor([0.5, -20.0]))
    adam.step()
    # After one step m^ = g and v^ = g^2: whatever the gradient, the step is the learning rate along its sign.
    torch.testing.assert_close(model.weight.data, torch.tensor([[2.9, -0.9]]))


def test_construction_changes_no_weight() -> None:
    model, reference = network(), network()
    Adam(model.parameters(), learning_rate=0.1)
    for (name, value), (_, expected) in zip(model.named_parameters(), reference.named_parameters(), strict=True):
        assert torch.equal(value, expected), name


def steps_on(model: nn.Module, adam: Adam, first: int, last: int) -> None:
    for step in range(first, last):
        adam.gradient.copy_(torch.randn(adam.gradient.shape, generator=Generator().manual_seed(step)))
        adam.learning_rate = 0.01 / (step + 1)
        adam.step()


def test_resuming_from_its_state_equals_an_uninterrupted_training() -> None:
    uninterrupted, interrupted, resumed = network(), network(), network()
    adam = Adam(uninterrupted.parameters(), learning_rate=0.01)
    steps_on(uninterrupted, adam, 0, 9)
    interrupted_adam, resumed_adam = (
        Adam(interrupted.parameters(), learning_rate=0.01),
        Adam(resumed.parameters(), learning_rate=0.5),
    )
    steps_on(interrupted, interrupted_adam, 0, 4)
    resumed.load_state_dict(interrupted.state_dict())
    resumed_adam.restore(interrupted_adam.state(), steps=4)
    steps_on(resumed, resumed_adam, 4, 9)
    assert torch.equal(adam.weights, resumed_adam.weights)
    assert all(torch.equal(value, resumed_adam.state()[name]) for name, value in adam.state().items())


def test_a_returned_state_never_changes() -> None:
    model = network()
    adam = Adam(model.parameters(), learning_rate=0.01)
    steps_on(model, adam, 0, 2)
    state = adam.state()
    copies = {name: value.clone() for name, value in state.items()}
    steps_on(model, adam, 2, 4)
    adam.restore(state, steps=2)
    steps_on(model, adam, 2, 4)
    assert state.keys() == {"mean", "square"}
    assert all(torch.equal(value, copies[name]) and value.any() for name, value in state.items())


def test_parameters_stay_views_of_one_vector() -> None:
    model = network()
    adam = Adam(model.parameters(), learning_rate=0.01)
    for value in model.state_dict().values():  # as when a checkpoint is loaded
        value.copy_(torch.full_like(value, 0.25))
    assert (adam.weights == 0.25).all()


@pytest.mark.parametrize("steps", [1, 2])
def test_gradients_accumulate_until_they_are_zeroed(steps: int) -> None:
    model = nn.Linear(2, 1, bias=False)
    adam = Adam(model.parameters(), learning_rate=0.1)
    adam.gradient.fill_(7.0)
    adam.zero_grad()
    for _ in range(steps):
        model(torch.tensor([2.0, 3.0])).backward()
    assert adam.gradient.tolist() == [2.0 * steps, 3.0 * steps]
