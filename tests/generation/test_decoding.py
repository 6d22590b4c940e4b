"""Every decoder returns the logits of the plain forward pass, token by token, for every model."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from explorer.generation.decoding import Decoder, make_decoder
from explorer.models.context_window import window_start
from explorer.models.layers import stack
from explorer.models.taps import record
from tests.generation.small import CONFIGS, CONTEXT, FEW, TRANSFORMERS, model, texts

SAMPLES, TIME = 3, 20


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
    decoder = make_decoder(lm, CONTEXT, SAMPLES)
    assert_close(decoder.read(ids[:, :2]), forward_logits(lm, ids[:, :2], CONTEXT))
    for n in range(3, TIME + 1):  # the context is full after 7 tokens, and slides at 8, 12, 16 and 20
        assert_close(decoder.step(ids[:, n - 1]), forward_logits(lm, ids[:, :n], CONTEXT))


@pytest.mark.parametrize("prompt", [1, CONTEXT - 1, CONTEXT, CONTEXT + 1, TIME - 1])
@pytest.mark.parametrize("name", FEW)
def test_the_prompt_length_does_not_change_the_logits(name: str, prompt: int) -> None:
    lm, ids = model(name), texts(SAMPLES, TIME)
    decoder = make_decoder(lm, CONTEXT, SAMPLES)
    decoder.read(texts(SAMPLES, 4) * 0)  # what was read before is forgotten
    logits = decoder.read(ids[:, :prompt])
    for n in range(prompt, TIME):
        assert_close(logits, forward_logits(lm, ids[:, :n], CONTEXT))
        logits = decoder.step(ids[:, n])


@pytest.mark.parametrize("name", FEW)
def test_a_single_row_is_used_for_all_samples(name: str) -> None:
    lm, ids = model(name), texts(SAMPLES, 9)
    same = ids[:1, :5].expand(SAMPLES, -1)
    decoder = make_decoder(lm, 20, SAMPLES)
    assert_close(decoder.read(ids[:1, :5]), forward_logits(lm, same, 20))
    assert_close(decoder.step(ids[:, 5]), forward_logits(lm, torch.cat([same, ids[:, 5:6]], dim=1), 20))


@pytest.mark.parametrize("context", [1, 2, 3, TIME + 1])
def test_other_contexts(context: int) -> None:
    lm, ids = model("transformer rotary layer pre"), texts(1, TIME)
    decoder = make_decoder(lm, context)
    logits = decoder.read(ids[:, :1])
    for n in range(1, TIME):
        assert_close(logits, forward_logits(lm, ids[:, :n], context))
        logits = decoder.step(ids[:, n])


def test_learned_positions_limit_the_context() -> None:
    lm, ids = model("transformer learned layer pre"), texts(1, TIME)
    assert_close(make_decoder(lm, 100).read(ids), forward_logits(lm, ids, CONTEXT))


@given(st.integers(1, 60), st.integers(1, 300))
def test_the_window_has_between_half_and_all_of_the_context(context: int, tokens_read: int) -> None:
    start = window_start(tokens_read, context)
    assert start == 0 or tokens_read > context
    assert tokens_read - start <= context
    assert tokens_read <= context or tokens_read - start > context // 2
    assert window_start(tokens_read + 1, context) >= start


def test_window_worked_by_hand() -> None:
    assert [window_start(tokens_read, 4) for tokens_read in range(1, 11)] == [0, 0, 0, 0, 2, 2, 4, 4, 6, 6]
    assert [window_start(tokens_read, 5) for tokens_read in range(1, 11)] == [0, 0, 0, 0, 0, 3, 3, 3, 6, 6]
    assert [window_start(tokens_read, 1) for tokens_read in range(1, 5)] == [0, 1, 2, 3]


def test_a_token_behind_the_window_changes_nothing_and_one_inside_does() -> None:
    lm, ids = model("transformer rotary layer pre"), texts(1, 9)
    expected = make_decoder(lm, CONTEXT).read(ids)
    first = window_start(9, CONTEXT)
    for position in range(9):
        other = ids.clone()
        other[0, position] = (other[0, position] + 1) % 11
        assert torch.equal(make_decoder(lm, CONTEXT).read(other), expected) == (position < first)


def test_two_decoders_of_one_model_are_independent() -> None:
    lm, ids = model("transformer learned rms post"), texts(2, TIME)
    one, other = make_decoder(lm, CONTEXT), make_decoder(lm, CONTEXT)
    one.read(ids[:1, :1]), other.read(ids[1:, :1])
    for n in range(2, TIME):
        assert_close(one.step(ids[0, n - 1 : n]), forward_logits(lm, ids[:1, :n], CONTEXT))
        assert_close(other.step(ids[1, n - 1 : n]), forward_logits(lm, ids[1:, :n], CONTEXT))


@pytest.mark.parametrize("name", [name for name in FEW if not name.startswith("ngram")])
def test_decoding_leaves_the_model_as_it_was(name: str) -> None:
    lm, ids = model(name), texts(SAMPLES, TIME)
    before = {key: value.clone() for key, value in lm.state_dict().items()}
    decoder = make_decoder(lm, CONTEXT, SAMPLES)
    decoder.read(ids[:, :3])
    for n in range(3, 12):
        decoder.step(ids[:, n])
    assert all(torch.equal(value, before[key]) for key, value in lm.state_dict().items())
    lm(ids[:, :CONTEXT]).sum().backward()  # and it can still be trained


def test_a_stack_of_replicas_and_other_modules_are_refused() -> None:
    lm = model(next(iter(TRANSFORMERS)))
    with pytest.raises(ValueError, match=r"layers\.replica"):
        make_decoder(stack([lm, lm]), CONTEXT)
    with pytest.raises(ValueError, match="Linear"):
        make_decoder(nn.Linear(2, 2), CONTEXT)


def test_a_decoder_records_no_taps() -> None:
    lm, ids = model("transformer rotary layer pre"), texts(1, 5)
    with record(lm) as trace:
        make_decoder(lm, CONTEXT).read(ids)
    assert not trace


class WithDecoder(nn.Module):
    """A model that brings its own decoder."""

    def make_decoder(self, samples: int, context: int) -> Decoder:
        return make_decoder(model(FEW[0]), context, samples)


def test_a_model_may_bring_its_own_decoder() -> None:
    ids = texts(SAMPLES, 5)
    found, expected = (make_decoder(lm, CONTEXT, SAMPLES).read(ids) for lm in (WithDecoder(), model(FEW[0])))
    assert_close(found, expected)
