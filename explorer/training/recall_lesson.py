"""How recall is taught: the last state, or whatever else reads the whole sequence, names the first symbol.

Scored on fresh sequences only, those of the trained length at every evaluation, and at the end also shorter and far
longer ones. A model that learned from few sequences is asked about these too, so that one sees it learn by heart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.catalogue import variant
from explorer.models.recurrence import RecurrentClassifier
from explorer.tasks.recall import RecallConfig, asked_lengths
from explorer.tasks.sequences import batch, fresh, own_sequences
from explorer.training.config import RunConfig
from explorer.training.lesson import Layout, Lesson, Measured

ASKED = 256  # fresh sequences of each length
_AT_ONCE = 2**17  # symbols of one replica in one forward


class RecallLesson(Lesson):
    """Draws sequences, and asks for their first symbol."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, model, config.on(RecallConfig)

    @staticmethod
    def build(config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        module, _, name = variant(config.model).place.partition(":")
        task = config.on(RecallConfig)
        model: nn.Module = getattr(import_module(module), name)(config.model, task.symbols, task.length, generator)
        return model

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config = self.config
        drawn = [batch(self.task, seed, config.order, step, config.batch_size) for seed in config.seeds]
        ids = torch.stack(drawn) if config.replicas > 1 else drawn[0]
        return self._surprise(ids).mean(dim=-1), float(drawn[0].numel())

    @torch.inference_mode()
    def evaluate(self, step: int, whole: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        task, replicas = self.task, self.config.replicas
        ids = self._beside(fresh(task, task.length, ASKED))
        answers = {"accuracy": self.accuracy(ids), "loss": self._surprise(ids).view(replicas, -1).mean(dim=-1)}
        lengths = asked_lengths(task.length)
        answers["by_length"] = self.by_length(lengths) if whole else torch.full((replicas, len(lengths)), math.nan)
        if task.sequences:
            own = [own_sequences(task, seed) for seed in self.config.seeds]
            answers["train_accuracy"] = self.accuracy(torch.stack(own) if replicas > 1 else own[0])
        return answers

    def accuracy(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, " replicas"]:
        """The share of sequences whose first symbol is named."""
        right = [
            self.model(part).argmax(dim=-1) == part[..., 0]
            for part in torch.split(ids, max(1, _AT_ONCE // ids.shape[-1]), dim=-2)
        ]
        return torch.cat(right, dim=-1).float().mean(dim=-1).view(self.config.replicas)

    def by_length(self, lengths: Sequence[int]) -> Float[Tensor, "replicas lengths"]:
        """The accuracy on fresh sequences of each of these lengths."""
        if not isinstance(self.model, RecurrentClassifier):
            return torch.stack([self.accuracy(self._beside(fresh(self.task, n, ASKED))) for n in lengths], dim=-1)
        # A recurrent net has no end in sight while it reads: the longest sequences hold all shorter ones.
        ids, places = self._beside(fresh(self.task, max(lengths), ASKED)), torch.tensor(lengths) - 1
        right = [
            self.model.after_each(part).argmax(dim=-1)[..., places] == part[..., :1]
            for part in torch.split(ids, max(1, _AT_ONCE // ids.shape[-1]), dim=-2)
        ]
        return torch.cat(right, dim=-2).float().mean(dim=-2).view(self.config.replicas, -1)

    def _beside(self, ids: Int[Tensor, "batch time"]) -> Int[Tensor, "*replicas batch time"]:
        return ids.expand(self.config.replicas, *ids.shape) if self.config.replicas > 1 else ids

    def _surprise(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch"]:
        logits = self.model(ids)
        surprise = F.cross_entropy(logits.flatten(0, -2), ids[..., 0].flatten(), reduction="none")
        return surprise.view(ids.shape[:-1])

    @staticmethod
    def measured(answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig) -> Measured:
        metrics = {name: answers[name].numpy() for name in RecallLesson.layout(config).metrics}
        return Measured(metrics, {"by_length": answers["by_length"].numpy()})

    @staticmethod
    def layout(config: RunConfig) -> Layout:
        task = config.on(RecallConfig)
        own = ("train_accuracy",) if task.sequences else ()
        return Layout(
            ("accuracy", "loss", *own),
            answers={"by_length": len(asked_lengths(task.length))},
            at_end=True,
            signals=("gradient_norm",),
        )
