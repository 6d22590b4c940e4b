"""Streams a generated text in chunks of a few tokens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from explorer.generation.generate import TextGenerator, generate_with_logits
from explorer.generation.sampling import Sampling
from explorer.tokenization.text import DecodeStream, Tokenizer

CHUNK_SECONDS = 0.04  # of generation in a chunk, so that the text grows 25 times a second


@dataclass(frozen=True)
class Chunk:
    """The next tokens of a generated text."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]  # the text that each token adds
    surprisal: tuple[float, ...]  # -log p of each token at temperature 1 without truncation, in nats


def stream_chunks(
    text_generator: TextGenerator,
    tokenizer: Tokenizer,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    seconds: float = CHUNK_SECONDS,
) -> Iterator[Chunk]:
    """Yield one sample's text in chunks: the first token alone, then the tokens of every `seconds`."""
    generated = generate_with_logits(text_generator, prompt, tokens, sampling)
    stream = DecodeStream(tokenizer, prompt.tolist())
    deadline, remaining = 0.0, tokens
    while remaining:
        batch = []
        with torch.inference_mode():  # once for the chunk: entering it costs a tenth of a step
            for logits, _, ids in generated:
                batch.append((logits, ids))
                if time.perf_counter() >= deadline:
                    break
            all_logits, chosen = (torch.cat(parts) for parts in zip(*batch, strict=True))
            surprise = -all_logits.log_softmax(dim=-1).gather(-1, chosen[:, None])[:, 0]
        remaining -= len(batch)
        row = chosen.tolist()
        pieces = [stream.step(id) for id in row]
        if not remaining:
            pieces[-1] += stream.end()
        yield Chunk(tuple(row), tuple(pieces), tuple(surprise.tolist()))
        deadline = time.perf_counter() + seconds
