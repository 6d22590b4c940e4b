"""The objective of the negation task: the distinct sentences, weighted by how often each was drawn.

See `tasks/negation.py`. An evaluation needs no forward pass of its own, because every step reads every row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
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
        tokens_of_each = (shares @ _row_lengths(task)) * _batch_sizes(config)[:, None]
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
        self._cached_logits: tuple[int, Tensor] | None = (
            None  # step, and its logits, if an evaluation has computed them
        )

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        return len(VOCABULARY.tokens), len(CLASSES), VOCABULARY.id(VOCABULARY.padding)

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        logits = self._logits(step)
        self._cached_logits = None
        return (logits.log_softmax(dim=-1) * self._targets[step]).sum(dim=(-2, -1)), self._tokens[step]

    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        every_row = self._logits(step).detach().view(self.config.replicas, *self._ids.shape[-2:-1], len(CLASSES))
        return {"logits": every_row[:, self._evaluation_rows]}

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


def _row_lengths(task: Negation) -> Tensor:
    """Return the number of tokens of each distinct row that enter the loss."""
    return torch.tensor([float(row.length) for row in task.rows])


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

    def counts(split: str) -> Tensor:
        size = len(task.labels)
        drawn = [task.sample("train" if split == "train" else "test", seed) for seed in config.seeds]
        return torch.stack([torch.bincount(torch.tensor(d), minlength=size) for d in drawn]).double()

    return counts("train"), counts("test")


def compute_metrics(
    logits: Float[Tensor, "evaluations replicas sentences classes"], config: RunConfig
) -> dict[str, Float[ndarray, "evaluations replicas"]]:
    """Return loss and accuracies of every evaluation, from the logits of every sentence.

    `train_…` and `test_…` are over the sampled sentences; `exact_accuracy` weights every possible sentence by its
    probability. The accuracy on a kind of sentence that is not in the sample is NaN.
    """
    task = Negation(config.task_as(NegationConfig))
    labels = torch.tensor(task.labels)
    nots = torch.tensor([s.nots for s in task.sentences])
    correct = (logits.argmax(dim=-1) == labels).double()
    surprisal = -logits.double().log_softmax(dim=-1).gather(-1, labels.expand(correct.shape)[..., None])[..., 0]

    def mean(values: Tensor, weights: Tensor, chosen: Bool[Tensor, " sentences"] | None = None) -> ndarray:
        weights = weights if chosen is None else weights * chosen
        return ((values * weights).sum(-1) / weights.sum(-1)).numpy()

    train_counts, test_counts = _sample_counts(config)
    chance = torch.tensor([s.probability for s in task.sentences], dtype=torch.float64)
    metrics = {
        "train_loss": mean(surprisal, train_counts),
        "test_loss": mean(surprisal, test_counts),
        "train_accuracy": mean(correct, train_counts),
        "test_accuracy": mean(correct, test_counts),
        "test_accuracy_plain": mean(correct, test_counts, nots == 0),
        "test_accuracy_negated": mean(correct, test_counts, nots > 0),
        "exact_accuracy": mean(correct, chance),
    }
    held_out = torch.tensor([s.train_probability == 0 and s.probability > 0 for s in task.sentences])
    if held_out.any():
        metrics["exact_accuracy_held_out"] = mean(correct, chance, held_out)
    return metrics


_OWN_METRICS = (
    "train_loss",
    "test_loss",
    "train_accuracy",
    "test_accuracy",
    "test_accuracy_plain",
    "test_accuracy_negated",
)
_EVALUATED_ROWS = 512  # in one forward pass


class SentencesObjective(Objective):
    """What the objectives share whose data are rows of sentences: a step reads the rows of its batch.

    What an evaluation returns are the metrics themselves: only the training may read the sentences.
    """

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
        return (self.model(ids).log_softmax(dim=-1) * targets).sum(dim=(-2, -1)), tokens

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
        self._test = torch.tensor([s.probability > 0 for s in task.sentences])
        self._negated = torch.tensor([s.nots > 0 for s in task.sentences])

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        task = config.task_as(NegationConfig)
        tokens = len(negation_data(task).vocabulary.tokens) if vocabulary is None else vocabulary
        return tokens, task.classes, tokens - 1  # the last token is the padding

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        logits, labels = self._logits(self._rows), self._rows.labels
        correct = (logits.argmax(dim=-1) == labels).double()
        surprisal = -logits.double().log_softmax(dim=-1).gather(-1, labels.expand(correct.shape)[..., None])[..., 0]

        def mean(values: Tensor, chosen: Bool[Tensor, " sentences"]) -> Tensor:
            return values[:, chosen].mean(dim=-1)  # NaN without sentences

        return {
            "train_loss": mean(surprisal, ~self._test),
            "test_loss": mean(surprisal, self._test),
            "train_accuracy": mean(correct, ~self._test),
            "test_accuracy": mean(correct, self._test),
            "test_accuracy_plain": mean(correct, self._test & ~self._negated),
            "test_accuracy_negated": mean(correct, self._test & self._negated),
        }

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        return RecordLayout(_OWN_METRICS)
