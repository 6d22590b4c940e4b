"""The chunks of a stream make up the generated text."""

from __future__ import annotations

import math

import pytest
import torch

from explorer.generation.generate import TextGenerator, generate_ids, generate_with_logits
from explorer.generation.sampling import Sampling
from explorer.generation.streaming import stream_chunks
from explorer.tokenization.text import train
from tests.generation.small import CONTEXT, FEW, VOCABULARY, model, texts

LETTERS = train("char", "abcdefghijk", 0)


@pytest.mark.parametrize("seconds", [0.0, 0.001, math.inf])
@pytest.mark.parametrize("name", FEW)
def test_the_chunks_are_the_text(name: str, seconds: float) -> None:
    lm, prompt, sampling = model(name), texts(1, 3)[0], Sampling(0.9, top_p=0.95, seed=2)
    chunks = list(stream_chunks(TextGenerator(lm, CONTEXT), LETTERS, prompt, 15, sampling, seconds=seconds))
    ids = [id for chunk in chunks for id in chunk.ids]
    assert ids == generate_ids(TextGenerator(lm, CONTEXT), prompt, 15, sampling)[0].tolist()
    assert "".join(piece for chunk in chunks for piece in chunk.pieces) == LETTERS.decode(ids)
    generated = generate_with_logits(TextGenerator(lm, CONTEXT), prompt, 15, sampling)
    expected = [-logits.log_softmax(-1)[0, ids].item() for logits, _, ids in generated]
    assert [nats for chunk in chunks for nats in chunk.surprisal] == pytest.approx(expected, abs=1e-4)
    assert len(chunks[0].ids) == 1  # as soon as there is one
    if seconds in (0, math.inf):
        assert len(chunks) == (2 if seconds else 15)


def test_padded_rows_are_read_as_they_were_learned() -> None:
    generator, prompt = TextGenerator(model("transformer learned rms post"), CONTEXT, 10), texts(1, 3)[0]
    chunks = stream_chunks(generator, LETTERS, prompt, 9, Sampling())
    assert [id for chunk in chunks for id in chunk.ids] == generate_ids(generator, prompt, 9, Sampling())[0].tolist()


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


def test_closing_the_stream_leaves_inference_mode() -> None:
    stream = stream_chunks(TextGenerator(model("gru"), CONTEXT), LETTERS, texts(1, 3)[0], 15, Sampling())
    next(stream)
    assert not torch.is_inference_mode_enabled()
    stream.close()


def test_zero_tokens_give_no_chunk() -> None:
    assert list(stream_chunks(TextGenerator(model("gru")), LETTERS, texts(1, 3)[0], 0, Sampling())) == []
