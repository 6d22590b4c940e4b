"""Who keeps track of what is open: of the text `brackets`, how often a model closes the mark that must be closed.

Asked is every place of the held-out end where a mark closes another one. The model reads as many characters before it
as it was trained with, from a cold start, and of the four marks that close, its likeliest is its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.models.ngram import Ngram
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.tokens import parts
from explorer.tasks.windows import text_data
from explorer.training.config import RunConfig

MOST_READ: Final = 200_000  # tokens that all seeds of one model read together
_TOGETHER = 128  # windows
_EDGES = np.array([2, 4, 6, 8, 12, 16, 24, 32, 45, corpora.LONGEST_DISTANCE])


@dataclass(frozen=True)
class Closings:
    """How many marks a model closes rightly, by how far back they were opened; neighbouring distances share a bin."""

    last: Int[ndarray, " bins"]  # the longest distance in each bin, in characters; it begins after the last one's
    asked: Int[ndarray, " bins"]
    right: Float[ndarray, "seeds bins"]  # share, by every seed that gives numbers
    usual: float  # the share that one gets who always gives the same answer, the most frequent one
    usual_mark: str
    context: int  # characters that could be read
    whole: bool = True  # every place of the held-out end, or an evenly spread part of them
    diverged: int = 0  # seeds that give no numbers

    @property
    def mean(self) -> Float[ndarray, " bins"]:
        mean: ndarray = self.right.mean(axis=0) if len(self.right) else np.full(len(self.last), np.nan)
        return mean

    @property
    def error(self) -> Float[ndarray, " bins"]:
        """Standard error of a share among so many that were asked (binomial)."""
        error: ndarray = np.sqrt(self.mean * (1 - self.mean) / self.asked)
        return error

    def over(self, bins: Bool[ndarray, " bins"]) -> tuple[float, float]:
        """The share of all that were asked in some bins, and its standard error; NaN where nothing was."""
        asked = int(self.asked[bins].sum())
        if not asked:
            return float("nan"), float("nan")
        share = float((self.mean * self.asked)[bins].sum() / asked)
        return share, float(np.sqrt(max(share * (1 - share), 0.0) / asked))


def closing(model: nn.Module, config: RunConfig) -> Closings:
    """Ask a model, all seeds of it side by side, that learned `brackets` in characters but for its end.

    Raises TextError.
    """
    task, replicas = config.on(TextConfig), config.replicas
    assert (task.corpus, task.tokenizer, task.rows, task.split) == ("brackets", "char", "blocks", "end")
    tokenizer, text = text_data(task).tokenizer, corpora.text_of(task)
    held_out = len(parts(text, task.held_out)[0])
    found = [c for c in corpora.closings(text) if c.position >= max(held_out, task.context)]
    count = max(1, min(len(found), MOST_READ // (task.context * replicas)))
    chosen = [found[i * len(found) // count] for i in range(count if found else 0)]

    marks = [mark for mark in corpora.MARKS.values() if mark in tokenizer.tokens]
    closers = torch.from_numpy(tokenizer.encode("".join(marks)).astype(np.int64))
    ids = tokenizer.encode(text).astype(np.int64)
    ends, distances = np.array(chosen, np.int64).reshape(-1, 2).T
    truth = np.array([marks.index(text[end]) for end in ends], np.int64)

    answers = [np.zeros((replicas, 0), np.int64)]
    for at in range(0, len(ends), _TOGETHER):
        windows = ids[ends[at : at + _TOGETHER, None] + np.arange(-task.context, 0)]
        answers.append(_answers(model, torch.from_numpy(windows), closers, replicas))
    answer = np.concatenate(answers, axis=1)
    sound = (answer >= 0).all(axis=1)

    bins = np.searchsorted(_EDGES, distances)
    asked = np.bincount(bins, minlength=len(_EDGES))
    kept = asked > 0
    right = [np.bincount(bins, each == truth, len(_EDGES))[kept] / asked[kept] for each in answer[sound]]
    counts = np.bincount(truth, minlength=len(marks))
    return Closings(
        last=_EDGES[kept],
        asked=asked[kept],
        right=np.array(right, float).reshape(int(sound.sum()), int(kept.sum())),
        usual=float(counts.max() / max(len(truth), 1)),
        usual_mark=marks[int(counts.argmax())],
        context=task.context,
        whole=count >= len(found),
        diverged=int((~sound).sum()),
    )


@torch.inference_mode()
def _answers(
    model: nn.Module, ids: Int[Tensor, "windows time"], closers: Int[Tensor, " marks"], replicas: int
) -> Int[ndarray, "replicas windows"]:
    """Which mark each seed holds likeliest after each window; -1 where it gives no numbers."""
    if isinstance(model, Ngram):
        logits = model.next_logits(ids)
    else:
        features, _ = model.features(ids if replicas == 1 else ids.expand(replicas, -1, -1))  # type: ignore[operator]
        logits = model.readout(features[..., -1:, :]).squeeze(-2)  # type: ignore[operator]  # a LanguageModel
    logits = logits[..., closers]
    answers = torch.where(logits.isfinite().all(dim=-1), logits.argmax(dim=-1), -1)
    return answers.view(replicas, -1).numpy()
