"""The chunks of a stream make up the generated text."""

from __future__ import annotations

import math

import pytest
import torch

from explorer.generation.generate import TextGenerator, generate_ids, generate_with_logits
from explorer.generation.sampling import Sampling
from explorer.generation.streaming import stream_chunks
from explorer.tokenization.text import train
from tests.generation.small import CONTEXT, VOCABULARY, model, texts

LETTERS = train("char", "abcdefghijk", 0)


@pytest.mark.parametrize("padding", [None, 10])
@pytest.mark.parametrize("seconds", [0.0, 0.001, math.inf])
def test_the_chunks_are_the_text(padding: int | None, seconds: float) -> None:
    generator = TextGenerator(model("transformer learned rms post"), CONTEXT, padding)
    prompt, sampling = texts(1, 3)[0], Sampling(0.9, top_p=0.95, seed=2)
    chunks = list(stream_chunks(generator, LETTERS, prompt, 15, sampling, seconds=seconds))
    ids = [id for chunk in chunks for id in chunk.ids]
    assert ids == generate_ids(generator, prompt, 15, sampling)[0].tolist()
    assert "".join(piece for chunk in chunks for piece in chunk.pieces) == LETTERS.decode(ids)
    generated = generate_with_logits(generator, prompt, 15, sampling)
    expected = [-logits.log_softmax(-1)[0, ids].item() for logits, _, ids in generated]
    assert [nats for chunk in chunks for nats in chunk.surprisal] == pytest.approx(expected, abs=1e-4)
    assert len(chunks[0].ids) == 1  # as soon as there is one
    if seconds in (0, math.inf):
        assert len(chunks) == (2 if seconds else 15)


def test_the_last_piece_ends_a_character_that_no_token_completed() -> None:
    tokenizer = train("bytes", "😀", 256)
    lm = model("ngram 1")
    fire = tokenizer.encode("😀")
    incomplete = [int(fire[0])] * 3  # the first byte of it, thrice
    lm.fit(torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, 3, dtype=torch.int64))
    lm.unigrams = torch.full((VOCABULARY,), 1e-9)
    lm.vocabulary = 256
    lm.base, lm.unigrams = 257, torch.full((256,), 1e-9)
    lm.unigrams[incomplete[0]] = 1.0
    pieces = [
        piece
        for chunk in stream_chunks(TextGenerator(lm), tokenizer, torch.tensor([65]), 3, Sampling(0.0))
        for piece in chunk.pieces
    ]
    assert "".join(pieces) == tokenizer.decode(incomplete) == "���"


def test_closing_the_stream_leaves_inference_mode_and_zero_tokens_give_no_chunk() -> None:
    generator, prompt = TextGenerator(model("gru"), CONTEXT), texts(1, 3)[0]
    stream = stream_chunks(generator, LETTERS, prompt, 15, Sampling())
    next(stream)
    assert not torch.is_inference_mode_enabled()
    stream.close()
    assert list(stream_chunks(generator, LETTERS, prompt, 0, Sampling())) == []
