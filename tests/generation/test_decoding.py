"""Every decoder returns the logits of the plain forward pass, token by token, for every model."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from explorer.generation.decoding import Decoder, make_decoder
from explorer.models.context_window import window_start
from explorer.models.language import State
from explorer.models.layers import stack
from explorer.models.taps import record
from tests.generation.small import CONFIGS, CONTEXT, FEW, model, texts

SAMPLES, TIME = 3, 20
ROTARY, LEARNED = FEW[:2]


def forward_logits(lm: nn.Module, ids: Tensor, context: int) -> Tensor:
    """Return the next logits from a whole forward pass over the window of a decoder with this context."""
    first = window_start(ids.shape[1], context) if hasattr(lm, "blocks") else 0
    with torch.no_grad():
        logits: Tensor = lm(ids[:, first:])
    return logits[:, -1]


def assert_close(ours: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", CONFIGS)
def test_decoder_logits_equal_the_plain_forward_token_by_token(name: str) -> None:
    lm, ids = model(name), texts(SAMPLES, TIME)
    before = {key: value.clone() for key, value in lm.state_dict().items()}
    expected = {n: forward_logits(lm, ids[:, :n], CONTEXT) for n in range(1, TIME + 1)}
    decoder = make_decoder(lm, CONTEXT, SAMPLES)
    for prompt in (1, CONTEXT, CONTEXT + 1):  # the next prompt makes the decoder forget what it read before
        assert_close(decoder.read(ids[:, :prompt]), expected[prompt])
        for n in range(prompt + 1, TIME + 1):  # the context is full after 7 tokens, and slides at 8, 12, 16 and 20
            assert_close(decoder.step(ids[:, n - 1]), expected[n])
    assert_close(decoder.read(ids[:1, :5]), expected[5][:1].expand(SAMPLES, -1))  # a single row is that of all samples
    same = torch.cat([ids[:1, :5].expand(SAMPLES, -1), ids[:, 5:6]], dim=1)
    assert_close(decoder.step(ids[:, 5]), forward_logits(lm, same, CONTEXT))
    assert all(torch.equal(value, before[key]) for key, value in lm.state_dict().items())
    if not name.startswith("ngram"):
        lm(ids[:, :CONTEXT]).sum().backward()  # it can still be trained


@pytest.mark.parametrize("context", [1, 2, 3, TIME + 1])
def test_other_contexts(context: int) -> None:
    lm, ids = model(ROTARY), texts(1, TIME)
    decoder = make_decoder(lm, context)
    logits = decoder.read(ids[:, :1])
    for n in range(1, TIME):
        assert_close(logits, forward_logits(lm, ids[:, :n], context))
        logits = decoder.step(ids[:, n])


def test_window_worked_by_hand() -> None:
    assert [window_start(tokens_read, 4) for tokens_read in range(1, 11)] == [0, 0, 0, 0, 2, 2, 4, 4, 6, 6]
    assert [window_start(tokens_read, 5) for tokens_read in range(1, 11)] == [0, 0, 0, 0, 0, 3, 3, 3, 6, 6]
    assert [window_start(tokens_read, 1) for tokens_read in range(1, 5)] == [0, 1, 2, 3]


def test_a_token_behind_the_window_changes_nothing_and_one_inside_does() -> None:
    lm, ids = model(ROTARY), texts(1, 9)
    with record(lm) as trace:
        expected = make_decoder(lm, CONTEXT).read(ids)
    assert not trace
    first = window_start(9, CONTEXT)
    for position in range(9):
        other = ids.clone()
        other[0, position] = (other[0, position] + 1) % 11
        assert torch.equal(make_decoder(lm, CONTEXT).read(other), expected) == (position < first)


def test_two_decoders_of_one_model_are_independent_and_learned_positions_limit_the_context() -> None:
    lm, ids = model(LEARNED), texts(2, TIME)
    one, other = make_decoder(lm, CONTEXT), make_decoder(lm, 100)
    one.read(ids[:1, :1]), other.read(ids[1:, :1])
    for n in range(2, TIME):
        assert_close(one.step(ids[0, n - 1 : n]), forward_logits(lm, ids[:1, :n], CONTEXT))
        assert_close(other.step(ids[1, n - 1 : n]), forward_logits(lm, ids[1:, :n], CONTEXT))


def test_models_with_and_without_a_decoder_of_their_own() -> None:
    with pytest.raises(ValueError, match=r"layers\.replica"):
        make_decoder(stack([model(ROTARY)] * 2), CONTEXT)
    with pytest.raises(ValueError, match="Linear"):
        make_decoder(nn.Linear(2, 2), CONTEXT)
    ids = texts(SAMPLES, 5)
    found, expected = (make_decoder(lm, CONTEXT, SAMPLES).read(ids) for lm in (WithDecoder(), model(ROTARY)))
    assert_close(found, expected)


class Plain(nn.Module):
    """A new language model of somebody else, without a decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model(ROTARY)
        self.blocks = self.inner.blocks  # it reads a window

    def features(self, ids: Tensor, state: State = ()) -> tuple[Tensor, State]:
        return self.inner.features(ids, state)

    def forward(self, ids: Tensor) -> Tensor:
        return self.inner.readout(self.features(ids)[0])


def test_a_new_language_model_reads_its_window_again_for_each_token() -> None:
    ids, lm = texts(SAMPLES, TIME), Plain()
    decoder = make_decoder(lm, CONTEXT, SAMPLES)
    assert_close(decoder.read(ids[:, :1]), forward_logits(lm, ids[:, :1], CONTEXT))
    for n in range(2, TIME):
        assert_close(decoder.step(ids[:, n - 1]), forward_logits(lm, ids[:, :n], CONTEXT))


class WithDecoder(nn.Module):
    """A model that brings its own decoder."""

    def make_decoder(self, samples: int, context: int) -> Decoder:
        return make_decoder(model(ROTARY), context, samples)
