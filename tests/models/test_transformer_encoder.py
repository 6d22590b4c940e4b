from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerEncoderConfig
from explorer.models.taps import record
from explorer.models.transformer_encoder import Attention, Block, TransformerEncoder

BATCH, TIME, HEADS, WIDTH, HIDDEN, PADDING = 2, 7, 3, 15, 11, 10
X = torch.randn(BATCH, TIME, WIDTH, generator=Generator().manual_seed(3))
OUTPUT_WEIGHTS = torch.randn(BATCH, TIME, WIDTH, generator=Generator().manual_seed(5))
MASK = (torch.arange(TIME) < torch.tensor([[TIME], [4]]))[:, None, None, :]


def seeded() -> Generator:
    return Generator().manual_seed(2)


def copy_attention(own_model: Attention, torch_model: nn.MultiheadAttention) -> None:
    torch_model.in_proj_weight.data = own_model.project.weight.detach()
    torch_model.out_proj.weight.data = own_model.output.weight.detach()
    if torch_model.in_proj_bias is not None:
        torch_model.in_proj_bias.data.zero_()
        torch_model.out_proj.bias.data.zero_()


def assert_close(one: Tensor | None, other: Tensor | None) -> None:
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("path", ["fused", "watched"])
def test_block_equals_torch_encoder_layer_forward_and_backward(path: str) -> None:
    own_model = Block(TransformerEncoderConfig(width=WIDTH, heads=HEADS, hidden=HIDDEN), seeded())
    varied = seeded()
    for norm in (
        own_model.attention_norm,
        own_model.feedforward_norm,
    ):  # the initial ones and zeros would hide swapped parameters
        norm.weight.data.uniform_(0.5, 2, generator=varied)
        norm.bias.data.uniform_(-1, 1, generator=varied)
    torch_model = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0, batch_first=True, norm_first=False)
    copy_attention(own_model.attention, torch_model.self_attn)
    pairs = [
        (own_model.expand, torch_model.linear1),
        (own_model.contract, torch_model.linear2),
        (own_model.attention_norm, torch_model.norm1),
        (own_model.feedforward_norm, torch_model.norm2),
    ]
    for own_part, torch_part in pairs:
        torch_part.load_state_dict(own_part.state_dict())
    own_input, torch_input = X.clone().requires_grad_(), X.clone().requires_grad_()
    with record(own_model) if path == "watched" else nullcontext():
        out = own_model(own_input, MASK, queries=TIME)
    expected = torch_model(torch_input, src_key_padding_mask=~MASK[:, 0, 0])
    assert_close(out, expected)
    (out * OUTPUT_WEIGHTS).sum().backward()
    (expected * OUTPUT_WEIGHTS).sum().backward()
    assert_close(own_input.grad, torch_input.grad)
    for own_part, torch_part in pairs:
        assert_close(own_part.weight.grad, torch_part.weight.grad)
        assert_close(own_part.bias.grad, torch_part.bias.grad)


def test_attention_weights_worked_by_hand() -> None:
    attention = Attention(1, 1, seeded())
    attention.project.weight.data = torch.tensor([[2.0], [1.0], [5.0]])  # query, key, value
    attention.output.weight.data.fill_(1.0)
    x = torch.tensor([[[1.0], [0.0], [9.0]]])
    with record(attention) as trace:
        mixed = attention(x, torch.tensor([[[[True, True, False]]]]), queries=3)
    # The first query is 2: scores 2 and 0, weights e^2 / (e^2 + 1) and the rest. The second is 0: weights 1/2 and 1/2.
    expected = torch.tensor([[0.8807971, 0.1192029, 0.0], [0.5, 0.5, 0.0]])
    torch.testing.assert_close(trace["weights"][0, 0, :2], expected)
    torch.testing.assert_close(mixed[0, :2, 0], torch.tensor([4.4039854, 2.5]))


def test_one_query_and_a_window() -> None:
    block = Block(TransformerEncoderConfig(width=WIDTH, heads=HEADS, hidden=HIDDEN), seeded())
    assert_close(block(X, MASK, queries=1), block(X, MASK, queries=TIME)[:, :1])
    config = TransformerEncoderConfig(WIDTH, HEADS, 2, HIDDEN, window=5, start=1.0)
    model = TransformerEncoder(config, 11, 2, PADDING, seeded())
    one, other = torch.tensor([[0, 2, 5, 3, 1, 7, 7]]), torch.tensor([[0, 2, 5, 3, 1, 4, 9]])
    assert torch.equal(model(one), model(other))
    other[0, 4] = 6
    assert not torch.equal(model(one), model(other))
