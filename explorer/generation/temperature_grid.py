"""Texts at many temperatures with the same prompt and noise, and the distribution at every token of a text.

`compute_temperature_grid` generates the texts of all temperatures in one batch. `sampling_inputs` returns the logits
and the noise of one position, from which a browser samples at any temperature. `trace_path` returns the likeliest
tokens at every position of a text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int32, UInt16
from numpy import ndarray
from torch import Tensor

from explorer.generation.generate import TextGenerator, generate_with_logits, sampling_noise
from explorer.generation.sampling import Sampling, sample_tokens
from explorer.tokenization.text import Tokenizer, pieces

TEMPERATURES: tuple[float, ...] = tuple(i / 20 for i in range(41))
TOP_TOKENS = 20  # number of likeliest tokens that the grid holds for each position
UNITS_PER_NAT = 2048  # of `TemperatureGrid.top_surprisals`
_LOGITS_AT_ONCE = 2**20  # number of logits that are processed at once
_LOG_OF_ZERO = -1e30  # log of probability 0, finite so that 0 times it is 0


@dataclass(frozen=True, eq=False)
class TemperatureGrid:
    """The texts at all temperatures, with the same sampling noise. Surprisal and entropy are in nats.

    Let s_i = -log p_i be the surprisal of token i at temperature 1 without truncation. Its probability at temperature
    t, before truncation, is exp(-s_i / t - log_normalizer), where log_normalizer = log sum_j exp(-s_j / t), and 0 at
    t = 0.
    """

    temperatures: tuple[float, ...]
    ids: Int32[ndarray, "temperatures tokens"]
    surprisal: Float32[ndarray, "temperatures tokens"]  # of each token, at temperature 1
    chosen_probability: Float32[ndarray, "temperatures tokens"]  # at its temperature, after truncation
    entropy: Float32[ndarray, "temperatures tokens"]  # of the distribution at its temperature, after truncation
    log_normalizer: Float32[ndarray, "temperatures tokens"]
    # Ids of the likeliest tokens, in descending order; equally likely ones as in `truncate_logits`.
    top_ids: UInt16[ndarray, "temperatures tokens top"] | Int32[ndarray, "temperatures tokens top"]
    top_surprisals: UInt16[ndarray, "temperatures tokens top"]  # in 1/2048 nats, at most 65,535


def component_arrays(
    grid: TemperatureGrid, tokenizer: Tokenizer, prompt: Sequence[int]
) -> tuple[dict[str, ndarray], tuple[str, ...]]:
    """Return the arrays that the temperature slider of the browser reads, and the distinct texts of tokens in them."""
    piece_ids: dict[str, int] = {}
    rows = [
        [piece_ids.setdefault(piece, len(piece_ids)) for piece in pieces(tokenizer, row, prompt)]
        for row in grid.ids.tolist()
    ]
    arrays = {
        "ids": grid.ids,
        "piece": np.array(rows, dtype=np.uint16),
        "surprise": grid.surprisal,
        "chosen": grid.chosen_probability,
        "entropy": grid.entropy,
        "spread": grid.log_normalizer,
        "top": grid.top_ids,
        "top_surprise": grid.top_surprisals,
    }
    return arrays, tuple(piece_ids)


@torch.inference_mode()
def compute_temperature_grid(
    text_generator: TextGenerator,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    temperatures: Sequence[float] = TEMPERATURES,
) -> TemperatureGrid:
    """Generate the text of `generate_ids` at each temperature in one batch, equal up to rounding."""
    rows = torch.tensor(temperatures, dtype=torch.float64)
    generated = generate_with_logits(text_generator, prompt, tokens, sampling, 1, rows)
    blocks = []
    while block := list(itertools.islice(generated, 1)):
        block += itertools.islice(generated, max(0, _LOGITS_AT_ONCE // block[0][0].numel() - 1))
        logits, truncated, ids = (torch.stack(parts, dim=1) for parts in zip(*block, strict=True))
        blocks.append(_grid_fields(logits, truncated, ids, rows))
    joined = (np.concatenate([part.numpy() for part in parts], axis=1) for parts in zip(*blocks, strict=True))
    return TemperatureGrid(tuple(temperatures), *joined)


def _grid_fields(
    logits: Float[Tensor, "temperatures tokens vocabulary"],
    truncated: Float[Tensor, "temperatures tokens vocabulary"],
    ids: Int[Tensor, "temperatures tokens"],
    temperatures: Float[Tensor, " temperatures"],
) -> tuple[Tensor, ...]:
    """Return the fields of `TemperatureGrid` from `ids` on, for some tokens of every text. Overwrites `truncated`."""
    cold = temperatures[:, None] == 0
    warm = temperatures[:, None, None].masked_fill(cold[..., None], 1).float()  # at 0, only one token remains
    surprisals = -logits.log_softmax(dim=-1)
    log_normalizer = surprisals.div(-warm).logsumexp(dim=-1).masked_fill(cold, 0)
    log_p = truncated.sub_(logits.amax(dim=-1, keepdim=True)).div_(warm).log_softmax(dim=-1)
    p = log_p.exp()
    entropy = p.mul(log_p.clamp_(min=_LOG_OF_ZERO)).sum(dim=-1).neg().clamp(min=0)
    chosen = p.gather(-1, ids[..., None])[..., 0]
    # Sort by id, then stably by surprisal, so that of equal ones the smaller id comes first.
    top = surprisals.topk(min(TOP_TOKENS, logits.shape[-1]), largest=False, sorted=False).indices.sort(dim=-1).values
    least, order = surprisals.gather(-1, top).sort(dim=-1, stable=True)
    fixed = (least * UNITS_PER_NAT).round_().clamp_(max=2**16 - 1)
    return (
        ids.int(),
        surprisals.gather(-1, ids[..., None])[..., 0],
        chosen,
        entropy,
        log_normalizer,
        top.gather(-1, order).to(torch.uint16 if logits.shape[-1] <= 2**16 else torch.int32),
        fixed.to(torch.uint16),
    )


@dataclass(frozen=True, eq=False)
class SamplingInputs:
    """The logits and the noise of one position, the inputs of `choose`."""

    logits: Float32[ndarray, " vocabulary"]
    noise: Float32[ndarray, " vocabulary"]


@torch.inference_mode()
def sampling_inputs(
    text_generator: TextGenerator, prompt: Int[Tensor, " time"], before: Int[Tensor, " before"], sampling: Sampling
) -> SamplingInputs:
    """Return the logits and the noise of the token after the prompt and the ids `before`.

    The ids are read one by one, as in generation, so that the logits are equal to the last digit. Raises
    InvalidSetting if one of them is not in the vocabulary.
    """
    *_, (logits, _, _) = generate_with_logits(text_generator, prompt, len(before) + 1, sampling, path=before)
    *_, noise = sampling_noise(sampling.seed, 1, len(before) + 1, logits.shape[-1])
    return SamplingInputs(logits[0].numpy().copy(), noise[0].numpy().copy())


@dataclass(frozen=True)
class Candidate:
    """A possible token at a position."""

    id: int
    probability: float  # at the temperature, after truncation
    learned: float  # probability at temperature 1 without truncation
    cut: bool  # whether truncation removes it


@dataclass(frozen=True)
class Choice:
    """The possible tokens at a position, and the one that the noise selects."""

    candidates: tuple[Candidate, ...]  # in descending order; they include `sampled` and the token of the path
    sampled: int  # id of the token that the sampling noise selects


@dataclass(frozen=True)
class PathStep(Choice):
    """A position of a path, with its token."""

    id: int
    surprisal: float  # -log of its probability at temperature 1, in nats


@dataclass(frozen=True)
class PathTrace:
    """The positions of a path, and the choice after its last token."""

    steps: tuple[PathStep, ...]
    next_choice: Choice

    @property
    def most_surprising(self) -> int | None:
        """The index of the token with the largest surprisal; None for an empty path."""
        return max(range(len(self.steps)), key=lambda i: self.steps[i].surprisal, default=None)


@torch.inference_mode()
def trace_path(
    text_generator: TextGenerator,
    prompt: Int[Tensor, " time"],
    path: Int[Tensor, " path"],
    sampling: Sampling,
    most: int = 8,
) -> PathTrace:
    """Compute the probabilities of each token of a path after a prompt, and of the likeliest other tokens.

    The sampling noise is that of the first sample. `most` is the number of candidates at a position, at least two.
    Raises InvalidSetting if an id of the path is not in the vocabulary.
    """
    generated = generate_with_logits(text_generator, prompt, len(path) + 1, sampling, path=path)
    logits, truncated, _ = (torch.cat(parts) for parts in zip(*generated, strict=True))
    noise = torch.cat(list(sampling_noise(sampling.seed, 1, len(logits), logits.shape[-1])))
    noise_ids = sample_tokens(truncated, noise, sampling).tolist()
    learned = logits.log_softmax(dim=-1)
    likeliest = logits.amax(dim=-1, keepdim=True)
    p = ((truncated - likeliest).double() / (sampling.temperature or 1)).softmax(dim=-1)
    order = logits.sort(dim=-1, descending=True, stable=True).indices[:, :most]
    steps: list[PathStep] = []
    for position, (sampled, ranked) in enumerate(zip(noise_ids, order.tolist(), strict=True)):
        id_of_path = int(path[position]) if position < len(path) else sampled
        added = [id for id in dict.fromkeys((id_of_path, sampled)) if id not in ranked]
        added.sort(key=lambda id: -logits[position, id].item())
        candidate_ids = [*ranked[: len(ranked) - len(added)], *added]
        candidates = tuple(
            Candidate(
                id,
                p[position, id].item(),
                learned[position, id].exp().item(),
                bool(truncated[position, id] == -math.inf),
            )
            for id in candidate_ids
        )
        steps.append(PathStep(candidates, sampled, id_of_path, -learned[position, id_of_path].item()))
    return PathTrace(tuple(steps[:-1]), Choice(steps[-1].candidates, steps[-1].sampled))


@torch.inference_mode()
def continue_path(
    text_generator: TextGenerator,
    prompt: Int[Tensor, " time"],
    path: Int[Tensor, " path"],
    tokens: int,
    sampling: Sampling,
) -> Int[Tensor, " tokens"]:
    """Sample `tokens` more after a path, with the noise of the first sample. Raises InvalidSetting."""
    generated = generate_with_logits(text_generator, prompt, len(path) + tokens, sampling, path=path)
    return torch.cat([path[:0], *(ids for _, _, ids in itertools.islice(generated, len(path), None))])
