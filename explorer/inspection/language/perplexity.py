"""The loss of one language model on one text by the size of its context and the stride of its windows.

The text is read in windows of `window` tokens, which begin `stride` tokens apart. The first window counts all its
targets, each later one only those after the end of the window before. So every target counts once, and at least
`window - stride` tokens are read before it (in the first window: those that there are). With stride = window the
windows are blocks without earlier context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Integer
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import TextError
from explorer.hub.pretrained import PretrainedModule
from explorer.inspection.load_model import LoadedModel, load_model
from explorer.models.kneser_ney import Ngram
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.token_arrays import load_tokens

_MAX_LOGITS: Final = 2**22  # numbers in memory at once


def held_out_tokens(config: TextConfig, targets: int) -> Integer[ndarray, " tokens"]:
    """Return the token before the held-out end and up to `targets` of it. Raises TextError for another split."""
    tokens = load_tokens(config, corpora.load_text(config))
    if "held_out" not in tokens.arrays:
        raise TextError("Windows of any length need a held-out end of the text.", "Choose split = end.")
    return tokens.arrays["held_out"][: targets + 1]


def run_losses(
    run: StoredRun, targets: int, window: int, divisors: tuple[int, ...]
) -> Float[ndarray, "strides replicas"]:
    """Return the mean loss (nats per token) of each seed on the first targets, in windows with several strides.

    Raises DamagedRun, and what `held_out_tokens` raises.
    """
    tokens = held_out_tokens(run.config.task_as(TextConfig), targets)
    return losses_by_stride(load_model(run), tokens, window, [window // divisor for divisor in divisors])


def windowed_surprisals(
    model: nn.Module, tokens: Integer[ndarray, " tokens"], window: int, stride: int
) -> Float[ndarray, " targets"]:
    """Return -log p (nats) of every token but the first, read in windows by a single model; see the module.

    model: an n-gram, a `LanguageModel` without a replica axis, or a pretrained decoder
    tokens: the text; each token is the target of the one before it
    window: the most tokens that are read before a target
    stride: tokens by which a window begins after the one before it, from 1 to `window`

    Raises ValueError for another stride.
    """
    if not 1 <= stride <= window:
        raise ValueError(f"stride = {stride} is not between 1 and window = {window}")
    ids = torch.from_numpy(tokens.astype(np.int64))
    targets = len(ids) - 1
    starts = np.arange(0, max(targets - window, 0) + stride, stride)
    starts = starts[(starts == 0) | (starts + window - stride < targets)]  # others have no target of their own
    surprisals = np.empty(targets)
    rows = max(1, _MAX_LOGITS // (window * _vocabulary(model)))
    for first in range(0, len(starts), rows):
        positions = starts[first : first + rows, None] + np.arange(window)
        # After the last target the first token is read again: the model is causal, so no counted target sees it.
        inside = np.where(positions < targets, positions, 0)
        found = _surprisals(model, ids[inside], ids[inside + 1]).double().numpy()
        counted = (positions < targets) & (positions >= starts[first : first + rows, None] + window - stride)
        counted |= (positions < targets) & (starts[first : first + rows, None] == 0)
        surprisals[positions[counted]] = found[counted]
    return surprisals


def losses_by_stride(
    model: LoadedModel, tokens: Integer[ndarray, " tokens"], window: int, strides: Sequence[int]
) -> Float[ndarray, "strides replicas"]:
    """Return the mean surprisal (nats per token) of each seed for each stride of windows of one size."""
    seeds = model.config.replicas
    models = [model.single_replica(seed) for seed in range(seeds)] if seeds > 1 else [model.stack]
    return np.array(
        [[windowed_surprisals(each, tokens, window, stride).mean() for each in models] for stride in strides]
    )


@torch.inference_mode()
def _surprisals(
    model: nn.Module, ids: Int[Tensor, "rows time"], targets: Int[Tensor, "rows time"]
) -> Float[Tensor, "rows time"]:
    if isinstance(model, Ngram):
        return model.surprisal(ids, targets)
    return F.cross_entropy(model(ids).transpose(1, 2), targets, reduction="none")


def _vocabulary(model: nn.Module) -> int:
    if isinstance(model, Ngram):
        return 1  # it computes the probability of the target only
    if isinstance(model, PretrainedModule):
        return model.vocabulary
    return int(model.readout.weight.shape[-2])  # type: ignore[union-attr,index]  # a LanguageModel
