"""The objective of the negation task: the distinct sentences, weighted by how often each was drawn.

See `tasks/negation.py`. An evaluation needs no forward pass of its own, because every step reads every row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.catalogue import TaskConfig
from explorer.seeds import generator
from explorer.tasks.negation import (
    CLASSES,
    VOCABULARY,
    Negation,
    NegationConfig,
    SentenceRows,
    batch_weights,
    row_ids,
    row_labels,
    row_lookup,
)
from explorer.tasks.own_sentences import Language, batch_rows, language_of, negation_data, sentence_rows
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.training.config import RunConfig
from explorer.training.device import device_of, move_batch, on_processor
from explorer.training.objective import Measurements, Objective, RecordLayout


class NegationObjective(Objective):
    """Holds all batches of a run as shares of the distinct rows."""

    @classmethod
    def variant_for(cls, task: TaskConfig) -> type[Objective]:
        return OwnSentencesObjective if getattr(task, "corpus", "") == "own" else cls

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model = config, model
        task = Negation(config.task_as(NegationConfig))
        shares = _row_shares(task, config)  # (steps, replicas, rows)
        # Cross-entropy is the sum of -share * log p(label): the targets of every step, made once.
        targets = -shares[..., None] * F.one_hot(row_labels(task), len(CLASSES))
        # Rounded to the whole numbers that they are, so that a sum is exact over any number of steps.
        lengths = torch.tensor([float(row.length) for row in task.rows])
        tokens_of_each = (shares @ lengths) * _batch_sizes(config)[:, None]
        self._tokens: list[float] = tokens_of_each.round().mean(dim=-1).tolist()
        ids = row_ids(task)
        if config.replicas > 1:
            ids = ids.expand(config.replicas, *ids.shape)
        else:
            targets = targets.squeeze(1)
        device = device_of(model)
        self._ids, self._targets = move_batch(ids, device), move_batch(targets, device).unbind()
        # An evaluation takes each sentence padded to the longest one.
        self._evaluation_rows = move_batch(row_lookup(task)[-1], device)
        self._cached_logits: tuple[int, Tensor] | None = None  # a step and its logits, if an evaluation needed them

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        return len(VOCABULARY.tokens), len(CLASSES), VOCABULARY.id(VOCABULARY.padding)

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        logits = self._logits(step)
        self._cached_logits = None
        return (logits.log_softmax(dim=-1, dtype=torch.float32) * self._targets[step]).sum(dim=(-2, -1)), self._tokens[
            step
        ]

    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        every_row = self._logits(step).detach().view(self.config.replicas, *self._ids.shape[-2:-1], len(CLASSES))
        return {"logits": every_row[:, self._evaluation_rows]}

    def baselines(self) -> dict[str, float]:
        sentences = len(Negation(self.config.task_as(NegationConfig)).sentences)
        always = torch.eye(len(CLASSES))[:, None, None].expand(-1, self.config.replicas, sentences, -1)
        return _best_accuracies(compute_metrics(always, self.config))

    def is_finite(self, step: int) -> bool:
        return bool(self._logits(step).isfinite().all())

    def _logits(self, step: int) -> Tensor:
        """Return the logits of every row before this step."""
        if self._cached_logits and self._cached_logits[0] == step and not self.config.average:
            return self._cached_logits[1]  # with averages, an evaluation and a step see different weights
        with torch.set_grad_enabled(step < self.config.steps):
            logits: Tensor = self.model(self._ids)
        self._cached_logits = (step, logits)
        return logits

    @staticmethod
    def compute_metrics(
        answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig
    ) -> Measurements:
        logits = answers["logits"]
        sustain = logits.softmax(dim=-1)[..., CLASSES.index("sustain")].numpy()
        return Measurements(compute_metrics(logits, config), {"sustain": sustain})

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        sentences = len(Negation(config.task_as(NegationConfig)).sentences)
        nothing = torch.zeros(1, config.replicas, sentences, len(CLASSES))
        return RecordLayout(tuple(compute_metrics(nothing, config)), {"sustain": sentences})


def _row_shares(task: Negation, config: RunConfig) -> Tensor:
    """Return the share of every distinct row in each batch, of shape (steps, replicas, rows)."""
    purpose = f"order/{config.order}" if config.order else "order"
    drawn = [torch.tensor(task.sample("train", seed)) for seed in config.seeds]
    orders = [generator(seed, purpose) for seed in config.seeds]
    pairs = zip(drawn, orders, strict=True)
    return torch.stack([batch_weights(task, d, config.epochs, config.batch_size, o) for d, o in pairs], dim=1)


def _batch_sizes(config: RunConfig) -> Tensor:
    """Return the number of sentences in each batch; the last one of an epoch may be smaller."""
    size, batch = config.task_as(NegationConfig).train_size, config.batch_size
    epoch = [min(batch, size - start) for start in range(0, size, batch)]
    return torch.tensor(epoch * config.epochs, dtype=torch.float32)


@lru_cache(maxsize=32)
def _sample_counts(
    config: RunConfig,
) -> tuple[Float[Tensor, "replicas sentences"], Float[Tensor, "replicas sentences"]]:
    """Return how often each sentence was drawn, for the training and for the test set."""
    task = Negation(config.task_as(NegationConfig))

    def counts(split: Literal["train", "test"]) -> Tensor:
        drawn = [torch.tensor(task.sample(split, seed)) for seed in config.seeds]
        return torch.stack([torch.bincount(each, minlength=len(task.labels)) for each in drawn]).double()

    return counts("train"), counts("test")


def compute_metrics(
    logits: Float[Tensor, "evaluations replicas sentences classes"], config: RunConfig
) -> dict[str, Float[ndarray, "evaluations replicas"]]:
    """Return loss and accuracies of every evaluation, from the logits of every sentence.

    `train_…` and `test_…` are over the sampled sentences; `exact_accuracy` weights every possible sentence by its
    probability. The accuracy on a kind of sentence that is not in the sample is NaN.
    """
    task = Negation(config.task_as(NegationConfig))
    labels, nots = torch.tensor(task.labels), torch.tensor([s.nots for s in task.sentences])
    metrics, correct = _sample_metrics(logits, labels, nots, *_sample_counts(config))
    chance = torch.tensor([s.probability for s in task.sentences], dtype=torch.float64)
    metrics["exact_accuracy"] = _weighted_mean(correct, chance)
    held_out = torch.tensor([s.train_probability == 0 and s.probability > 0 for s in task.sentences])
    if held_out.any():
        metrics["exact_accuracy_held_out"] = _weighted_mean(correct, chance * held_out)
    return {name: values.numpy() for name, values in metrics.items()}


def _best_accuracies(metrics: Mapping[str, ndarray | Tensor]) -> dict[str, float]:
    """Return the highest of each accuracy, which each class gets as the answer to everything: along the first axis."""
    means = {name: np.asarray(each).reshape(len(each), -1).mean(axis=1) for name, each in metrics.items()}
    return {name: float(each.max()) for name, each in means.items() if "accuracy" in name and not np.isnan(each).any()}


def _sample_metrics(
    logits: Float[Tensor, "*batch sentences classes"], labels: Tensor, nots: Tensor, train: Tensor, test: Tensor
) -> tuple[dict[str, Tensor], Float[Tensor, "*batch sentences"]]:
    """Return the metrics over both samples (how often each sentence is in it), and whether each sentence is right."""
    correct = (logits.argmax(dim=-1) == labels).double()
    surprisal = position_losses(logits.double(), labels)
    metrics = {
        "train_loss": _weighted_mean(surprisal, train),
        "test_loss": _weighted_mean(surprisal, test),
        "train_accuracy": _weighted_mean(correct, train),
        "test_accuracy": _weighted_mean(correct, test),
        "test_accuracy_plain": _weighted_mean(correct, test * (nots == 0)),
        "test_accuracy_negated": _weighted_mean(correct, test * (nots > 0)),
    }
    return metrics, correct


def _weighted_mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum(-1) / weights.sum(-1)  # NaN without sentences


_EVALUATED_ROWS = 512  # in one forward pass


class SentencesObjective(Objective):
    """A step reads rows of sentences; an evaluation returns metrics: only the training may read the sentences."""

    config: RunConfig
    model: nn.Module
    _rows: SentenceRows  # that training reads
    _batches: Sequence[Int[Tensor, "replicas batch"]]  # the indices of the rows of each step
    _classes: int

    @staticmethod
    def parse_tokenizer(text: str) -> tuple[str, int]:
        language = Language.from_json(text)
        return language.to_json(), len(language.vocabulary.tokens)

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        ids, labels, tokens = move_batch(self._rows.batch(self._batches[step]), device_of(self.model))
        if self.config.replicas == 1:
            ids, labels = ids[0], labels[0]
        targets = -F.one_hot(labels, self._classes) / labels.shape[-1]
        return (self.model(ids).log_softmax(dim=-1, dtype=torch.float32) * targets).sum(dim=(-2, -1)), tokens

    def is_finite(self, step: int) -> bool:
        return all(bool(parameter.isfinite().all()) for parameter in self.model.parameters())

    def _logits(self, rows: SentenceRows) -> Float[Tensor, "replicas sentences classes"]:
        """Return the logits of every sentence."""
        replicas, count, model = self.config.replicas, len(rows.labels), on_processor(self.model)
        parts = []
        for start in range(0, count, _EVALUATED_ROWS):
            indices = torch.arange(start, min(start + _EVALUATED_ROWS, count))
            ids = rows.batch(indices.expand(replicas, -1)).ids
            parts.append(model(ids if replicas > 1 else ids[0]).view(replicas, len(indices), -1))
        return torch.cat(parts, dim=1)


class OwnSentencesObjective(SentencesObjective):
    """The objective on a visitor's own sentences: the order in which each replica reads their rows."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model = config, model
        task = negation_data(config.task_as(NegationConfig))
        self.tokenizer = language_of(task).to_json()
        self._rows = sentence_rows(task)
        self._batches = batch_rows(task, config.seeds, config.order, config.epochs, config.batch_size)
        self._classes = len(task.classes)
        self._in_test = torch.tensor([s.probability > 0 for s in task.sentences])
        self._nots = torch.tensor([s.nots for s in task.sentences])

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        task = config.task_as(NegationConfig)
        tokens = len(negation_data(task).vocabulary.tokens) if vocabulary is None else vocabulary
        return tokens, task.classes, tokens - 1  # the last token is the padding

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        logits, labels, test = self._logits(self._rows), self._rows.labels, self._in_test.double()
        return _sample_metrics(logits, labels, self._nots, 1 - test, test)[0]

    def baselines(self) -> dict[str, float]:
        labels, test = self._rows.labels, self._in_test.double()
        always = torch.eye(self._classes)[:, None].expand(-1, len(labels), -1)
        return _best_accuracies(_sample_metrics(always, labels, self._nots, 1 - test, test)[0])

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        empty = torch.zeros(1)
        return RecordLayout(tuple(_sample_metrics(torch.zeros(1, 1), empty.long(), empty, empty, empty)[0]))
