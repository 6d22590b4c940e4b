"""A text as it comes: a few tokens at a time, for a reader who sees it grow."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from explorer.generation.sampling import Sampling
from explorer.generation.writing import Writer, answered
from explorer.tokenization.text import DecodeStream, Tokenizer

SLICE = 0.04  # seconds of writing in a chunk: a reader sees it grow 25 times a second


@dataclass(frozen=True)
class Chunk:
    """The next tokens of a text."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]  # what each adds to the text
    surprise: tuple[float, ...]  # -log p of each as the model learned it (temperature 1, no cut), nats


def chunks(
    writer: Writer,
    tokenizer: Tokenizer,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    seconds: float = SLICE,
) -> Iterator[Chunk]:
    """What `write` gives for one sample, while it is written: the first token alone, then all of each `seconds`.

    What has been read can be continued by any thread, by one at a time.
    """
    said = answered(writer, prompt, tokens, sampling)
    stream = DecodeStream(tokenizer, prompt.tolist())
    until, left = 0.0, tokens
    while left:
        batch = []
        with torch.inference_mode():  # once for the whole chunk: for each step it would take a tenth of it
            for logits, _, ids in said:
                batch.append((logits, ids))
                if time.perf_counter() >= until:
                    break
            distribution, chosen = (torch.cat(parts) for parts in zip(*batch, strict=True))
            surprise = -distribution.log_softmax(dim=-1).gather(-1, chosen[:, None])[:, 0]
        left -= len(batch)
        row = chosen.tolist()
        pieces = [stream.step(id) for id in row]
        if not left:
            pieces[-1] += stream.end()
        yield Chunk(tuple(row), tuple(pieces), tuple(surprise.tolist()))
        until = time.perf_counter() + seconds
