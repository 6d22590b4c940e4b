"""Writing: read a prompt, choose a token, read it, choose the next.

The same seed gives the same text. Each sample has dice of its own, which depend on the seed and its number alone: so
it is the same text however many are written beside it, and whether it is asked for in one piece or in two lengths.
(Up to rounding: products of other sizes differ in the last digit, and a choice that hangs on it is possible, but
about one in a million.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.generation.decoding import decoder
from explorer.generation.sampling import Sampling, cut, dice, drawn, gumbel
from explorer.tasks.text import TextConfig
from explorer.tokenization.text import Tokenizer

FROM_NOTHING = "Nothing of it is left to read, so the model starts from a line end."  # see `prompt_ids`
_DRAWN = 2**18  # numbers of noise that are drawn at once


@dataclass(frozen=True, eq=False)
class Writer:
    """A model that writes, and what it sees while it does."""

    model: nn.Module
    # How far a Transformer looks back (`decoding.window_start`): as far as in its training, if it shall write as well
    # as it can. None: to the beginning, or as far as it has learned positions.
    context: int | None = None
    padding: int | None = None  # see `padding_of`; goes with the context of the training

    @classmethod
    def of(cls, model: nn.Module, task: TextConfig, tokenizer: Tokenizer) -> Writer:
        """As in its training."""
        return cls(model, task.context, padding_of(task, tokenizer))


def write(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    samples: int = 1,
) -> Int[Tensor, "samples tokens"]:
    """So many tokens after the prompt, which is not repeated. See `written`."""
    text = torch.empty(samples, tokens, dtype=torch.int64)
    with torch.inference_mode():  # once for all steps; `text`, made outside, can still be learned from
        for i, ids in enumerate(written(writer, prompt, tokens, sampling, samples)):
            text[:, i] = ids
    return text


def written(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    samples: int = 1,
) -> Iterator[Int[Tensor, " samples"]]:
    """The next token of every sample, as soon as it is chosen. Whoever has enough stops asking.

    Raises ValueError for an empty prompt: a model says what comes next, so something must stand before. Where a
    visitor gives nothing, a line end is a good start; `prompt_ids` sees to it.
    """
    return (ids for _, _, ids in answered(writer, prompt, tokens, sampling, samples))


def answered(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    samples: int = 1,
    temperatures: Float[Tensor, " temperatures"] | None = None,
    path: Int[Tensor, " path"] | None = None,
) -> Iterator[tuple[Float[Tensor, "rows vocabulary"], Float[Tensor, "rows vocabulary"], Int[Tensor, " rows"]]]:
    """`written`, and with each token the logits that the model gave for it, and what the cut left of them.

    With `temperatures`, which stand in the place of the sampling's own, every sample is written once at each of them,
    with the same dice. The rows are all samples at the first temperature, then all at the second, and so on.

    The tokens of `path` are taken as they are; from there on the dice of their places choose. Raises InvalidSetting
    where the model does not know one of them.
    """
    if not len(prompt):
        raise ValueError("the prompt is empty: give at least one token, such as a line end")
    different = 1 if temperatures is None else len(temperatures)
    of_rows = None if temperatures is None else temperatures.repeat_interleave(samples)
    longest = len(prompt) + tokens
    context = writer.context or longest
    if writer.padding is None:  # a padded row is never narrower than in training
        context = min(context, longest)
    reader = decoder(writer.model, context, samples * different, writer.padding)
    logits = reader.read(prompt[None])
    taken = () if path is None else _known(path, logits.shape[-1]).expand(len(logits), -1).unbind(1)
    noises = noise_of(sampling.seed, samples, tokens, logits.shape[-1])
    for step, noise in zip(range(tokens), noises, strict=True):
        left = cut(logits, sampling, of_rows)
        if step < len(taken):
            ids = taken[step]
        else:
            ids = drawn(left, noise.repeat(different, 1) if different > 1 else noise, sampling, of_rows)
        yield logits, left, ids
        if step + 1 < tokens:
            logits = reader.step(ids)


def _known(path: Int[Tensor, " path"], vocabulary: int) -> Int[Tensor, " path"]:
    if len(path) and not 0 <= path.min() <= path.max() < vocabulary:
        raise InvalidSetting(
            f"The path has a token {path.min() if path.min() < 0 else path.max()}, but this model knows tokens "
            f"from 0 to {vocabulary - 1:,}. Begin the path anew."
        )
    return path


@dataclass(frozen=True)
class Continued:
    """What a model wrote after a prompt."""

    prompt: str  # as the model read it
    lowered: bool  # whether capital letters of the prompt became small ones, as in the text it learned from
    dropped: tuple[str, ...]  # what stood in the prompt, and the model never saw: left out
    unknown: tuple[str, ...]  # the same, but read as the tokenizer's unknown token
    texts: tuple[str, ...]  # one a sample, without the prompt
    whole: tuple[str, ...]  # the same behind the prompt; pieces of words that meet there stand as they do elsewhere


def continued(
    model: nn.Module,
    tokenizer: Tokenizer,
    task: TextConfig,
    prompt: str,
    tokens: int,
    sampling: Sampling,
    samples: int = 1,
) -> Continued:
    """A model goes on from a prompt, read as its task reads the text that it learned from."""
    return continued_by(Writer.of(model, task, tokenizer), tokenizer, prompt, tokens, sampling, samples, task.lower)


def continued_by(
    writer: Writer,
    tokenizer: Tokenizer,
    prompt: str,
    tokens: int,
    sampling: Sampling,
    samples: int = 1,
    lower: bool = False,
) -> Continued:
    """`continued`, for a model whose task is no text of a corpus. `lower`: it knows small letters only."""
    read = prompt.lower() if lower else prompt
    ids, unseen = prompt_ids(tokenizer, read)
    rows = write(writer, ids, tokens, sampling, samples)
    dropped, unknown = (unseen, ()) if tokenizer.unknown is None else ((), unseen)
    before = ids.tolist()
    texts = tuple(tokenizer.decode(row) for row in rows.tolist())
    whole = tuple(tokenizer.decode([*before, *row]) for row in rows.tolist())
    return Continued(tokenizer.decode(before), read != prompt, dropped, unknown, texts, whole)


def padding_of(task: TextConfig, tokenizer: Tokenizer) -> int | None:
    """The token that fills a row up, for a model that learned from padded prefixes; None for every other one.

    Only at the last place of a row of the full width was such a model ever asked what comes next.
    """
    return (tokenizer.padding or 0) if task.rows == "prefixes" else None


def noise_of(seed: int, samples: int, tokens: int, vocabulary: int) -> Iterator[Float[Tensor, "samples vocabulary"]]:
    """For every token that is written, the noise of each sample."""
    generators = [dice(seed, sample) for sample in range(samples)]
    most = max(1, _DRAWN // (samples * vocabulary))
    for first in range(0, tokens, most):
        steps = min(most, tokens - first)
        yield from torch.stack([gumbel(own, steps, vocabulary) for own in generators], dim=1).unbind(0)


def prompt_ids(tokenizer: Tokenizer, text: str) -> tuple[Int[Tensor, " tokens"], tuple[str, ...]]:
    """A text as a model reads it, and the characters (of words: the words) in it that the model cannot know.

    These stand among the ids as the tokenizer's unknown token, or are dropped where it has none. If nothing is left
    the model starts from a line end, or, where that is no token either, from the first token that stands for text.
    """
    ids = tokenizer.encode(text).tolist()
    if not ids:
        ids = [id for id in tokenizer.encode("\n").tolist() if id != tokenizer.unknown]
    if not ids:
        ids = [id for id in range(len(tokenizer.tokens)) if id not in (tokenizer.unknown, tokenizer.padding)][:1]
    return torch.tensor(ids), tuple(tokenizer.unknown_in(text))
