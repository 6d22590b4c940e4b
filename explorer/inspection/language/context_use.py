"""Context use of a language model: its loss on the same targets after the last 1, 2, 4, … tokens before each.

Every target is predicted with every context, so that contexts are compared in pairs. Each window is read from a zero
state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import TextError
from explorer.inspection.language.perplexity import held_out_tokens
from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig

TARGETS = 4_000  # at most, evenly spread over the held-out text
NEGLIGIBLE_GAIN = 0.005  # nats per token
_TOKENS_AT_ONCE = 2**13  # read by one seed
_SIGNIFICANT_ERRORS = 2.5  # above which a difference is taken as significant


@dataclass(frozen=True)
class ContextUse:
    """The loss of a model on the same targets by the number of tokens before them."""

    contexts: Int[ndarray, " contexts"]  # tokens that are read before each target
    targets: int  # number of targets
    losses: Float[ndarray, "seeds contexts"]  # nats per token, of every seed with finite losses
    error: Float[ndarray, " contexts"]  # standard error of the mean over targets
    gain: Float[ndarray, " contexts"]  # by which the loss with the longest context is lower; 0 for the longest
    gain_error: Float[ndarray, " contexts"]  # standard error of the gain, over pairs
    limit: int | None = None  # tokens that the architecture can see, if fewer than the longest context
    diverged: int = 0  # seeds with non-finite losses

    @property
    def median(self) -> Float[ndarray, " contexts"]:
        """The median over the seeds."""
        empty = np.full(len(self.contexts), np.nan)
        return np.median(self.losses, axis=0) if len(self.losses) else empty

    @property
    def sufficient_context(self) -> int:
        """The smallest context whose loss is not measurably higher than with the longest context."""
        falls = np.flatnonzero((self.gain > _SIGNIFICANT_ERRORS * self.gain_error) & (self.gain > NEGLIGIBLE_GAIN))
        tokens = int(self.contexts[falls[-1] + 1] if len(falls) else self.contexts[0])
        return tokens if self.limit is None else min(tokens, max(self.limit, 1))

    @property
    def worsens_with_context(self) -> bool:
        """Whether the loss rises with more context, as in an n-gram that memorized its training text."""
        best = int(self.median.argmin())
        return bool(
            self.gain[best] < -_SIGNIFICANT_ERRORS * self.gain_error[best] and self.gain[best] < -NEGLIGIBLE_GAIN
        )


def measure_context_use(model: nn.Module, config: RunConfig) -> ContextUse:
    """Measure the context use of all seeds of a model. Raises TextError if the held-out text is too short."""
    task, replicas = config.task_as(TextConfig), config.replicas
    longest = task.context
    contexts = [2**i for i in range(longest.bit_length()) if 2**i < longest] + [longest]
    tokens = torch.as_tensor(held_out_tokens(task, text_data(task).held_out_targets).astype(np.int64))
    if len(tokens) < longest + 2:
        raise TextError(f"The held-out text is shorter than a row of {longest} tokens. Choose a longer text.")
    ends = np.unique(np.linspace(longest, len(tokens) - 1, min(TARGETS, len(tokens) - longest)).astype(int))
    surprisals = np.stack([_surprisals(model, tokens, ends, context, replicas) for context in contexts])
    is_finite = np.isfinite(surprisals).all(axis=(0, 2))
    kept = surprisals[:, is_finite]
    by_target = kept.mean(axis=1) if is_finite.any() else np.full((len(contexts), len(ends)), np.nan)
    gains, root = by_target - by_target[-1], np.sqrt(len(ends))
    return ContextUse(
        np.array(contexts),
        len(ends),
        kept.mean(axis=2).T,
        by_target.std(axis=1) / root,
        gains.mean(axis=1),
        gains.std(axis=1) / root,
        _limit(config),
        int((~is_finite).sum()),
    )


@torch.inference_mode()
def _surprisals(
    model: nn.Module, tokens: Tensor, ends: Int[ndarray, " targets"], context: int, replicas: int
) -> Float[ndarray, "replicas targets"]:
    """Return -log p (nats) of the tokens at `ends` after the `context` tokens before each."""
    parts = []
    rows = max(1, _TOKENS_AT_ONCE // context)
    for start in range(0, len(ends), rows):
        end = torch.as_tensor(ends[start : start + rows])
        index = end[:, None] + torch.arange(-context, 1)
        window = tokens[index]
        ids, targets = window[:, :-1], window[:, 1:]
        if isinstance(model, Ngram):
            surprisal = model.surprisal(ids, targets)[:, -1].view(1, -1)
        else:
            stacked = ids if replicas == 1 else ids.expand(replicas, -1, -1)
            features = model.features(stacked)[0][..., -1, :]  # type: ignore[operator]  # a LanguageModel
            surprisal = position_losses(model.readout(features), targets[:, -1]).view(replicas, -1)  # type: ignore[operator]
        parts.append(surprisal.double().numpy())
    return np.concatenate(parts, axis=1)


def _limit(config: RunConfig) -> int | None:
    """Return how many tokens a model can see, if that is fewer than a row has."""
    visible = config.task_as(TextConfig).context
    if isinstance(config.model, NgramTextConfig):
        visible = visible if config.model.cache else config.model.n - 1
    elif isinstance(config.model, FeedforwardTextConfig):
        visible = config.model.window
    return visible if visible < config.task_as(TextConfig).context else None
