"""Cells compared with torch.nn: outputs and gradients, fused and recorded, with and without an initial state."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Generator, nn

from explorer.models.gru import GRUCell
from explorer.models.lstm import LSTMCell
from explorer.models.recurrence import unroll
from explorer.models.rnn import RNNCell
from explorer.models.taps import record

BATCH, TIME, WIDTH, HIDDEN = 3, 11, 5, 7
CELLS = {"rnn": (RNNCell, nn.RNN), "lstm": (LSTMCell, nn.LSTM), "gru": (GRUCell, nn.GRU)}
TORCH_NAMES = {
    "input.weight": "weight_ih_l0",
    "recurrent.weight": "weight_hh_l0",
    "input.bias": "bias_ih_l0",
    "recurrent.bias": "bias_hh_l0",
}


@pytest.mark.parametrize("initial_state", ["cold", "carried"])
@pytest.mark.parametrize("path", ["fused", "watched"])
@pytest.mark.parametrize("name", CELLS)
def test_cell_equals_torch_forward_and_backward(name: str, path: str, initial_state: str) -> None:
    own_class, torch_class = CELLS[name]
    own_cell, torch_cell = (
        own_class(WIDTH, HIDDEN, Generator().manual_seed(2)),
        torch_class(WIDTH, HIDDEN, batch_first=True),
    )
    torch_cell.load_state_dict(
        {torch_name: own_cell.get_parameter(own_name).detach() for own_name, torch_name in TORCH_NAMES.items()}
    )
    x = torch.randn(BATCH, TIME, WIDTH, generator=Generator().manual_seed(3))
    output_weights = torch.randn(BATCH, TIME, HIDDEN, generator=Generator().manual_seed(5))

    state_count = 0 if initial_state == "cold" else 2 if name == "lstm" else 1
    state = [torch.randn(BATCH, HIDDEN, generator=Generator().manual_seed(7 + i)) for i in range(state_count)]

    own_inputs, torch_inputs = ([part.clone().requires_grad_() for part in (x, *state)] for _ in range(2))
    with record(own_cell) if path == "watched" else nullcontext():
        states, last = unroll(own_cell, own_inputs[0], tuple(own_inputs[1:]))
    stacked = [part[None] for part in torch_inputs[1:]]
    expected, end = torch_cell(
        torch_inputs[0], tuple(stacked) if state_count == 2 else stacked[0] if state_count else None
    )
    end = end if name == "lstm" else (end,)
    for one, other in zip((states, *last), (expected, *(part[0] for part in end)), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)

    ((states * output_weights).sum() + sum(part.square().sum() for part in last)).backward()
    ((expected * output_weights).sum() + sum(part.square().sum() for part in end)).backward()
    for one, other in zip(own_inputs, torch_inputs, strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-5)
    for own_name, torch_name in TORCH_NAMES.items():
        torch.testing.assert_close(
            own_cell.get_parameter(own_name).grad, torch_cell.get_parameter(torch_name).grad, atol=1e-5, rtol=1e-5
        )


def test_rnn_step_worked_by_hand() -> None:
    cell = RNNCell(1, 1, Generator().manual_seed(0))
    weights = {"input.weight": 0.5, "input.bias": 0.1, "recurrent.weight": -2.0, "recurrent.bias": 0.2}
    for name, value in weights.items():
        cell.get_parameter(name).data.fill_(value)
    (state,) = cell.step(cell.project(torch.tensor([[2.0]])), (torch.tensor([[0.25]]),))
    assert state.item() == pytest.approx(0.664037, abs=1e-6)  # tanh(0.5 * 2 + 0.1 - 2 * 0.25 + 0.2) = tanh(0.8)


def test_gru_with_an_open_update_gate_keeps_its_state() -> None:
    cell = GRUCell(2, 3, Generator().manual_seed(0))
    cell.input.bias.data[3:6] = 100.0  # z = 1
    h = torch.tensor([[0.3, -0.7, 0.11]])
    torch.testing.assert_close(cell.step(cell.project(torch.ones(1, 2)), (h,))[0], h)


def test_lstm_with_closed_input_gate_and_open_forget_gate_keeps_its_memory() -> None:
    cell = LSTMCell(2, 3, Generator().manual_seed(0))
    cell.input.bias.data[:3], cell.input.bias.data[3:6] = -100.0, 100.0
    c = torch.tensor([[0.3, -0.7, 5.0]])
    torch.testing.assert_close(cell.step(cell.project(torch.ones(1, 2)), (torch.zeros(1, 3), c))[1], c)
