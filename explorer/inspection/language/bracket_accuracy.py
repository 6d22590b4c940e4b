"""Bracket accuracy: how often a model predicts the correct closing mark in the text `brackets`, by distance.

Every position of the held-out end at which a mark closes another one is evaluated. The model reads its training context
before it, starting from a zero state; its prediction is the likeliest of the four closing marks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection import load_model
from explorer.models.kneser_ney import Ngram
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.tasks.text.token_arrays import split_text
from explorer.training.config import RunConfig
from explorer.training.record import Record

MAX_TOKENS: Final = 200_000  # read by all seeds of one model together
_WINDOWS_PER_BATCH = 128  # windows
_EDGES = np.array([2, 4, 6, 8, 12, 16, 24, 32, 45, corpora.MAX_DISTANCE])


@dataclass(frozen=True)
class BracketAccuracy:
    """Accuracy of closing marks by the distance to the opening mark, binned."""

    bin_ends: Int[ndarray, " bins"]  # longest distance of each bin, in characters
    counts: Int[ndarray, " bins"]
    accuracy: Float[ndarray, "seeds bins"]  # of every seed with finite outputs
    baseline: float  # accuracy of always predicting the most frequent mark
    baseline_mark: str
    context: int  # characters that the model reads
    is_complete: bool = True  # whether all positions were evaluated, or an evenly spread part
    diverged: int = 0  # seeds with non-finite outputs

    @property
    def mean(self) -> Float[ndarray, " bins"]:
        return self.accuracy.mean(axis=0) if len(self.accuracy) else np.full(len(self.bin_ends), np.nan)

    @property
    def error(self) -> Float[ndarray, " bins"]:
        """Binomial standard error of the mean accuracy."""
        return np.sqrt(self.mean * (1 - self.mean) / self.counts)

    def accuracy_over(self, bins: Bool[ndarray, " bins"]) -> tuple[float, float]:
        """Return the accuracy over some bins and its binomial standard error; NaN without positions."""
        counts = int(self.counts[bins].sum())
        if not counts:
            return float("nan"), float("nan")
        share = float((self.mean * self.counts)[bins].sum() / counts)
        return share, float(np.sqrt(max(share * (1 - share), 0.0) / counts))


def run_bracket_accuracy(run: StoredRun | Record) -> BracketAccuracy:
    """Measure the bracket accuracy of all seeds of a run. Raises DamagedRun."""
    return measure_bracket_accuracy(load_model.load_model(run).stack, run.config)


def measure_bracket_accuracy(model: nn.Module, config: RunConfig) -> BracketAccuracy:
    """Measure all seeds on the held-out end of the text `brackets`, in characters. Raises TextError."""
    task, replicas = config.task_as(TextConfig), config.replicas
    assert (task.corpus, task.tokenizer, task.rows, task.split) == ("brackets", "char", "blocks", "end")
    tokenizer, text = text_data(task).tokenizer, corpora.load_text(task)
    held_out = len(split_text(text, task.held_out)[0])
    closings = [c for c in corpora.find_closing_marks(text) if c.position >= max(held_out, task.context)]
    count = max(1, min(len(closings), MAX_TOKENS // (task.context * replicas)))
    selected = [closings[i * len(closings) // count] for i in range(count if closings else 0)]

    marks = [mark for mark in corpora.CLOSING_MARKS.values() if mark in tokenizer.tokens]
    closers = torch.from_numpy(tokenizer.encode("".join(marks)).astype(np.int64))
    ids = tokenizer.encode(text).astype(np.int64)
    ends, distances = np.array(selected, np.int64).reshape(-1, 2).T
    target = np.array([marks.index(text[end]) for end in ends], np.int64)

    predictions = [np.zeros((replicas, 0), np.int64)]
    for at in range(0, len(ends), _WINDOWS_PER_BATCH):
        windows = ids[ends[at : at + _WINDOWS_PER_BATCH, None] + np.arange(-task.context, 0)]
        predictions.append(_predicted_marks(model, torch.from_numpy(windows), closers, replicas))
    prediction = np.concatenate(predictions, axis=1)
    is_finite = (prediction >= 0).all(axis=1)

    bins = np.searchsorted(_EDGES, distances)
    counts_per_bin = np.bincount(bins, minlength=len(_EDGES))
    nonempty = counts_per_bin > 0
    accuracy = [
        np.bincount(bins, each == target, len(_EDGES))[nonempty] / counts_per_bin[nonempty]
        for each in prediction[is_finite]
    ]
    counts = np.bincount(target, minlength=len(marks))
    return BracketAccuracy(
        bin_ends=_EDGES[nonempty],
        counts=counts_per_bin[nonempty],
        accuracy=np.array(accuracy, float).reshape(int(is_finite.sum()), int(nonempty.sum())),
        baseline=float(counts.max() / max(len(target), 1)),
        baseline_mark=marks[int(counts.argmax())],
        context=task.context,
        is_complete=count >= len(closings),
        diverged=int((~is_finite).sum()),
    )


@torch.inference_mode()
def _predicted_marks(
    model: nn.Module, ids: Int[Tensor, "windows time"], closers: Int[Tensor, " marks"], replicas: int
) -> Int[ndarray, "replicas windows"]:
    """Return the index of the likeliest mark after each window; -1 for non-finite outputs."""
    if isinstance(model, Ngram):
        logits = model.next_logits(ids)
    else:
        features, _ = model.features(ids if replicas == 1 else ids.expand(replicas, -1, -1))  # type: ignore[operator]
        logits = model.readout(features[..., -1:, :]).squeeze(-2)  # type: ignore[operator]  # a LanguageModel
    logits = logits[..., closers]
    answers = torch.where(logits.isfinite().all(dim=-1), logits.argmax(dim=-1), -1)
    return answers.view(replicas, -1).numpy()
