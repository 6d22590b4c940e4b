from __future__ import annotations

import pytest
import torch
from torch import Generator, nn

from explorer.models.configs import FeedforwardConfig
from explorer.models.feedforward import Feedforward
from explorer.training.adam import Adam


def network() -> Feedforward:
    return Feedforward(FeedforwardConfig(width=3, hidden=7, window=5), 11, 2, 10, Generator().manual_seed(1))


def test_steps_equal_those_of_torch() -> None:
    own_model, reference_model = network(), network()
    adam = Adam(own_model.parameters(), learning_rate=0.01)
    reference = torch.optim.Adam(reference_model.parameters(), lr=0.01)
    ids = torch.randint(11, (8, 13, 5), generator=Generator().manual_seed(2))
    labels = torch.randint(2, (8, 13), generator=Generator().manual_seed(3))
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
    adam.gradient.zero_()
    adam.step()
    # m = 0.09 g and v = 0.000999 g^2, divided by 1 - 0.9^2 and 1 - 0.999^2: the step is 0.1 * 0.09 / 0.19 / 0.7069300.
    torch.testing.assert_close(model.weight.data, torch.tensor([[2.9 - 0.0670058, -0.9 + 0.0670058]]))


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
