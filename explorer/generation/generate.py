"""Generation of text: read a prompt, sample a token, read it, sample the next one.

The same seed gives the same text. The sampling noise of each sample depends only on the seed and the sample's index.
So a sample does not change with the number of samples, and a longer text begins with the shorter one. This holds up
to rounding: matrix products of other sizes differ in the last digit, which changes about one choice in a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.generation.decoding import make_decoder
from explorer.generation.sampling import Sampling, gumbel_noise, noise_generator, sample_tokens, truncate_logits
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import Tokenizer

FROM_NOTHING = "There is no text to read, so the model starts from a line end."  # see `prompt_ids`
_NOISE_BATCH_SIZE = 2**18  # noise values that are drawn at once


@dataclass(frozen=True, eq=False)
class TextGenerator:
    """A language model with the context and the padding that it generates with."""

    model: nn.Module
    # The number of tokens that a Transformer attends to (`window_start`); best is the length of its training.
    # None: all tokens, or as many as it has learned positions.
    context: int | None = None
    padding: int | None = None  # see `padding_token`; needs the context of the training
    start: tuple[int, ...] = ()  # the tokens that stand before every prompt

    @classmethod
    def for_task(cls, model: nn.Module, task: TextConfig, tokenizer: Tokenizer) -> TextGenerator:
        """Return the generator with the context and the padding of the training."""
        return cls(model, task.context, padding_token(task, tokenizer))


def generate_ids(
    text_generator: TextGenerator, prompt: Int[Tensor, " time"], tokens: int, sampling: Sampling, samples: int = 1
) -> Int[Tensor, "samples tokens"]:
    """Return the ids of `tokens` generated tokens, without the prompt; see `generate_tokens`."""
    text = torch.empty(samples, tokens, dtype=torch.int64)
    with torch.inference_mode():  # once for all steps; `text` is created outside of it, so that autograd can use it
        for i, ids in enumerate(generate_tokens(text_generator, prompt, tokens, sampling, samples)):
            text[:, i] = ids
    return text


def generate_tokens(
    text_generator: TextGenerator, prompt: Int[Tensor, " time"], tokens: int, sampling: Sampling, samples: int = 1
) -> Iterator[Int[Tensor, " samples"]]:
    """Yield the next token of every sample; the caller may stop. Raises ValueError for an empty prompt."""
    return (ids for _, _, ids in generate_with_logits(text_generator, prompt, tokens, sampling, samples))


def generate_with_logits(
    text_generator: TextGenerator,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    samples: int = 1,
    temperatures: Float[Tensor, " temperatures"] | None = None,
    path: Int[Tensor, " path"] | None = None,
) -> Iterator[tuple[Float[Tensor, "rows vocabulary"], Float[Tensor, "rows vocabulary"], Int[Tensor, " rows"]]]:
    """Yield for each token the logits of the model, the truncated logits and the ids that were sampled.

    `temperatures`: replace the temperature of `sampling`. Every sample is generated at each of them, with the same
        noise. The rows are all samples at the first temperature, then all samples at the second, and so on.
    `path`: ids of the first tokens of every row, which are given as given; the noise of their positions is skipped.

    Raises ValueError for an empty prompt, InvalidSetting if `path` has an id that is not in the vocabulary.
    """
    if not len(prompt):
        raise ValueError("the prompt is empty: give at least one token, such as a line end")
    repeats = 1 if temperatures is None else len(temperatures)
    row_temperatures = None if temperatures is None else temperatures.repeat_interleave(samples)
    longest = len(prompt) + tokens
    context = text_generator.context or longest
    if text_generator.padding is None:  # a padded row is never narrower than in training
        context = min(context, longest)
    decoder = make_decoder(text_generator.model, context, samples * repeats, text_generator.padding)
    logits = decoder.read(prompt[None])
    given = () if path is None else _check_path(path, logits.shape[-1]).expand(len(logits), -1).unbind(1)
    noises = sampling_noise(sampling.seed, samples, tokens, logits.shape[-1])
    for step, noise in zip(range(tokens), noises, strict=True):
        truncated = truncate_logits(logits, sampling, row_temperatures)
        if step < len(given):
            ids = given[step]
        else:
            ids = sample_tokens(
                truncated, noise.repeat(repeats, 1) if repeats > 1 else noise, sampling, row_temperatures
            )
        yield logits, truncated, ids
        if step + 1 < tokens:
            logits = decoder.step(ids)


def _check_path(path: Int[Tensor, " path"], vocabulary: int) -> Int[Tensor, " path"]:
    """Return the path. Raises InvalidSetting if one of its ids is not in the vocabulary."""
    if len(path) and not 0 <= path.min() <= path.max() < vocabulary:
        raise InvalidSetting(
            f"The path has a token {path.min() if path.min() < 0 else path.max()}, but this model knows tokens "
            f"from 0 to {vocabulary - 1:,}. Begin the path anew."
        )
    return path


@dataclass(frozen=True)
class Continuation:
    """The texts that a model generated after a prompt."""

    prompt: str  # as the model reads it
    lowered: bool  # whether the prompt was lower-cased, as the training text was
    dropped: tuple[str, ...]  # unknown parts of the prompt that were left out
    unknown: tuple[str, ...]  # unknown parts of the prompt that were read as the unknown token
    texts: tuple[str, ...]  # by sample, without the prompt
    whole: tuple[str, ...]  # by sample, prompt and continuation decoded together


def continue_prompt(
    text_generator: TextGenerator,
    tokenizer: Tokenizer,
    prompt: str,
    tokens: int,
    sampling: Sampling,
    samples: int = 1,
    lower: bool = False,
) -> Continuation:
    """Continue a prompt with a language model. `lower`: whether it is lower-cased first, as the training text was."""
    read = prompt.lower() if lower else prompt
    ids, unseen = prompt_ids(tokenizer, read)
    rows = generate_ids(text_generator, torch.tensor([*text_generator.start, *ids]), tokens, sampling, samples)
    dropped, unknown = (unseen, ()) if tokenizer.unknown is None else ((), unseen)
    before = ids.tolist()
    texts = tuple(tokenizer.decode(row) for row in rows.tolist())
    whole = tuple(tokenizer.decode([*before, *row]) for row in rows.tolist())
    return Continuation(tokenizer.decode(before), read != prompt, dropped, unknown, texts, whole)


def padding_token(task: TextConfig, tokenizer: Tokenizer) -> int | None:
    """Return the id that fills rows of full width, for a model trained on padded prefixes; otherwise None."""
    return (tokenizer.padding or 0) if task.rows == "prefixes" else None


def sampling_noise(
    seed: int, samples: int, tokens: int, vocabulary: int
) -> Iterator[Float[Tensor, "samples vocabulary"]]:
    """Yield the Gumbel noise of all samples, one token at a time."""
    generators = [noise_generator(seed, sample) for sample in range(samples)]
    batch = max(1, _NOISE_BATCH_SIZE // (samples * vocabulary))
    for first in range(0, tokens, batch):
        steps = min(batch, tokens - first)
        yield from torch.stack([gumbel_noise(generator, steps, vocabulary) for generator in generators], dim=1).unbind(
            0
        )


def prompt_ids(tokenizer: Tokenizer, text: str) -> tuple[Int[Tensor, " tokens"], tuple[str, ...]]:
    """Return the ids of a prompt, and the characters (or words) of it that are not in the vocabulary.

    Unknown parts become the unknown token, or are dropped if the tokenizer has none. If no id is left, the prompt is
    a line end, or the first token that represents text if the line end is not in the vocabulary either.
    """
    ids = tokenizer.encode(text).tolist()
    if not ids:
        ids = [id for id in tokenizer.encode("\n").tolist() if id != tokenizer.unknown]
    if not ids:
        ids = [id for id in range(len(tokenizer.tokens)) if id not in (tokenizer.unknown, tokenizer.padding)][:1]
    return torch.tensor(ids), tuple(tokenizer.find_unknown(text))
