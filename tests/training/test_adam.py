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
    ours, theirs = network(), network()
    adam, reference = Adam(ours, learning_rate=0.01), torch.optim.Adam(theirs.parameters(), lr=0.01)
    ids = torch.randint(11, (50, 13, 5), generator=Generator().manual_seed(2))
    labels = torch.randint(2, (50, 13), generator=Generator().manual_seed(3))
    for x, y in zip(ids, labels, strict=True):
        for model, optimiser in ((ours, adam), (theirs, reference)):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimiser.step()
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)


def test_first_step_worked_by_hand() -> None:
    model = nn.Linear(2, 1, bias=False)
    model.weight.data = torch.tensor([[3.0, -1.0]])
    adam = Adam(model, learning_rate=0.1)
    adam.gradient.copy_(torch.tensor([0.5, -20.0]))
    adam.step()
    # After one step m^ = g and v^ = g^2: whatever the gradient, the step is the learning rate along its sign.
    torch.testing.assert_close(model.weight.data, torch.tensor([[2.9, -0.9]]))


def test_building_it_changes_no_weight() -> None:
    one, other = network(), network()
    Adam(one, learning_rate=0.1)
    for (name, value), (_, before) in zip(one.named_parameters(), other.named_parameters(), strict=True):
        assert torch.equal(value, before), name


@pytest.mark.parametrize("steps", [1, 2])
def test_gradients_add_up_until_they_are_cleared(steps: int) -> None:
    model = nn.Linear(2, 1, bias=False)
    adam = Adam(model, learning_rate=0.1)
    adam.gradient.fill_(7.0)
    adam.zero_grad()
    for _ in range(steps):
        model(torch.tensor([2.0, 3.0])).backward()
    assert adam.gradient.tolist() == [2.0 * steps, 3.0 * steps]
