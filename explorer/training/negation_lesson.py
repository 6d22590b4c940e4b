"""How the negation task is taught: the few distinct sentences, weighted by how often each is drawn.

See `tasks/batches.py` for the trick. An evaluation needs no forward of its own: every step reads every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Generator, Tensor, nn

from explorer.catalogue import variant
from explorer.seeds import generator
from explorer.tasks.batches import batch_weights, row_ids, row_labels, rows_beside
from explorer.tasks.negation import CLASSES, VOCABULARY, Negation, NegationConfig
from explorer.training.config import RunConfig
from explorer.training.lesson import Layout, Lesson, Measured


class NegationLesson(Lesson):
    """All batches of a run as shares of the distinct rows, made once."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model = config, model
        task = Negation(config.on(NegationConfig))
        shares = _shares(task, config)  # (steps, replicas, rows)
        # Cross-entropy is the sum of -share * log p(label): the targets of every step, made once.
        targets = -shares[..., None] * F.one_hot(row_labels(task), len(CLASSES))
        # Rounded, since they are whole numbers: so a sum over more or fewer steps gives the same.
        read_by_each = (shares @ _row_lengths(task)) * _batch_sizes(config)[:, None]
        self._tokens: list[float] = read_by_each.round().mean(dim=-1).tolist()
        ids = row_ids(task)
        if config.replicas > 1:
            ids = ids.expand(config.replicas, *ids.shape)
        else:
            targets = targets.squeeze(1)
        self._ids, self._targets = ids, targets.unbind()
        self._asked = rows_beside(task)[-1]  # an evaluation takes each sentence as it stands beside the longest one
        self._ready: tuple[int, Tensor] | None = None  # logits of a step that an evaluation has computed

    @staticmethod
    def build(config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        module, _, name = variant(config.model).place.partition(":")
        padding = VOCABULARY.id(VOCABULARY.padding)
        model: nn.Module = getattr(import_module(module), name)(
            config.model, len(VOCABULARY.tokens), len(CLASSES), padding, generator
        )
        return model

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        logits = self._logits(step)
        self._ready = None
        return (logits.log_softmax(dim=-1) * self._targets[step]).sum(dim=(-2, -1)), self._tokens[step]

    def evaluate(self, step: int, whole: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        every_row = self._logits(step).detach().view(self.config.replicas, *self._ids.shape[-2:-1], len(CLASSES))
        return {"logits": every_row[:, self._asked]}

    def finite(self, step: int) -> bool:
        return bool(self._logits(step).isfinite().all())

    def _logits(self, step: int) -> Tensor:
        """The logits of every row before this step."""
        if self._ready and self._ready[0] == step and not self.config.average:
            return self._ready[1]  # with averages, an evaluation and a step see different weights
        with torch.set_grad_enabled(step < self.config.steps):
            logits: Tensor = self.model(self._ids)
        self._ready = (step, logits)
        return logits

    @staticmethod
    def measured(answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig) -> Measured:
        logits = answers["logits"]
        sustain = logits.softmax(dim=-1)[..., CLASSES.index("sustain")].numpy()
        return Measured(measure(logits, config), {"sustain": sustain})

    @staticmethod
    def layout(config: RunConfig) -> Layout:
        sentences = len(Negation(config.on(NegationConfig)).sentences)
        nothing = torch.zeros(1, config.replicas, sentences, len(CLASSES))
        return Layout(tuple(measure(nothing, config)), {"sustain": sentences})


def _shares(task: Negation, config: RunConfig) -> Tensor:
    """The share of every distinct row in each batch, for every replica."""
    purpose = f"order/{config.order}" if config.order else "order"
    drawn = [torch.tensor(task.sample("train", seed)) for seed in config.seeds]
    orders = [generator(seed, purpose) for seed in config.seeds]
    pairs = zip(drawn, orders, strict=True)
    return torch.stack([batch_weights(task, d, config.epochs, config.batch_size, o) for d, o in pairs], dim=1)


def _row_lengths(task: Negation) -> Tensor:
    """Tokens of each distinct row, the counted ones."""
    return torch.tensor([float(row.length) for row in task.rows])


def _batch_sizes(config: RunConfig) -> Tensor:
    """Sentences in each batch; the last one of an epoch may be smaller."""
    size, batch = config.on(NegationConfig).train_size, config.batch_size
    epoch = [min(batch, size - start) for start in range(0, size, batch)]
    return torch.tensor(epoch * config.epochs, dtype=torch.float32)


@lru_cache(maxsize=32)
def _drawn(config: RunConfig) -> tuple[Float[Tensor, "replicas sentences"], Float[Tensor, "replicas sentences"]]:
    """How often each sentence was drawn for training, and for the test."""
    task = Negation(config.on(NegationConfig))

    def counts(split: str) -> Tensor:
        size = len(task.labels)
        drawn = [task.sample("train" if split == "train" else "test", seed) for seed in config.seeds]
        return torch.stack([torch.bincount(torch.tensor(d), minlength=size) for d in drawn]).double()

    return counts("train"), counts("test")


def measure(
    logits: Float[Tensor, "evaluations replicas sentences classes"], config: RunConfig
) -> dict[str, Float[ndarray, "evaluations replicas"]]:
    """Loss and accuracies of every evaluation, from the logits of every sentence.

    `train_…` and `test_…` are over the sampled sentences; `exact_accuracy` weighs every sentence of the
    world by its probability. A kind of sentence that the sample does not hold has no accuracy (NaN).
    """
    task = Negation(config.on(NegationConfig))
    labels = torch.tensor(task.labels)
    nots = torch.tensor([s.nots for s in task.sentences])
    right = (logits.argmax(dim=-1) == labels).double()
    surprise = -logits.double().log_softmax(dim=-1).gather(-1, labels.expand(right.shape)[..., None])[..., 0]

    def mean(values: Tensor, weights: Tensor, chosen: Bool[Tensor, " sentences"] | None = None) -> ndarray:
        weights = weights if chosen is None else weights * chosen
        return ((values * weights).sum(-1) / weights.sum(-1)).numpy()

    train_counts, test_counts = _drawn(config)
    chance = torch.tensor([s.probability for s in task.sentences], dtype=torch.float64)
    metrics = {
        "train_loss": mean(surprise, train_counts),
        "test_loss": mean(surprise, test_counts),
        "train_accuracy": mean(right, train_counts),
        "test_accuracy": mean(right, test_counts),
        "test_accuracy_plain": mean(right, test_counts, nots == 0),
        "test_accuracy_negated": mean(right, test_counts, nots > 0),
        "exact_accuracy": mean(right, chance),
    }
    held_out = torch.tensor([s.train_probability == 0 and s.probability > 0 for s in task.sentences])
    if held_out.any():
        metrics["exact_accuracy_held_out"] = mean(right, chance, held_out)
    return metrics
