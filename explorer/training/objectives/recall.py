"""The objective of recall: predict the first symbol of a sequence after reading all of it.

The evaluation uses new sequences: of the trained length at every evaluation, at the end also shorter and much longer
ones. A model that is trained on few sequences is evaluated on these too, which shows memorization.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.models.recurrence import RecurrentClassifier
from explorer.tasks.recall import RecallConfig, batch, evaluation_lengths, evaluation_sequences, fixed_sequences
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.training.config import RunConfig
from explorer.training.device import device_of, move_batch
from explorer.training.objective import Objective, RecordLayout

EVALUATION_SEQUENCES = 256  # new sequences of each length
_SYMBOLS_PER_FORWARD = 2**17  # of one replica


class RecallObjective(Objective):
    """Draws sequences, and trains on their first symbol."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, model, config.task_as(RecallConfig)
        self._device = device_of(model)

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        task = config.task_as(RecallConfig)
        return task.symbols, task.length

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config = self.config
        drawn = [batch(self.task, seed, config.order, step, config.batch_size) for seed in config.seeds]
        ids = torch.stack(drawn) if config.replicas > 1 else drawn[0]
        return self._surprisal(move_batch(ids, self._device)).mean(dim=-1), float(drawn[0].numel())

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        task, replicas = self.task, self.config.replicas
        ids = self._new_sequences(task.length)
        answers = {"accuracy": self.accuracy(ids), "loss": self._surprisal(ids).view(replicas, -1).mean(dim=-1)}
        lengths = evaluation_lengths(task.length)
        answers["by_length"] = self.by_length(lengths) if full else torch.full((replicas, len(lengths)), math.nan)
        if task.sequences:
            own = [fixed_sequences(task, seed) for seed in self.config.seeds]
            answers["train_accuracy"] = self.accuracy(
                move_batch(torch.stack(own) if replicas > 1 else own[0], self._device)
            )
        return answers

    def baselines(self) -> dict[str, float]:
        firsts = evaluation_sequences(self.task, self.task.length, EVALUATION_SEQUENCES)[..., 0].flatten()
        return {"accuracy": float(firsts.bincount().max() / len(firsts))}

    def accuracy(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, " replicas"]:
        """Return the share of sequences whose first symbol is predicted."""
        correct = [
            self.model(part).argmax(dim=-1) == part[..., 0]
            for part in torch.split(ids, max(1, _SYMBOLS_PER_FORWARD // ids.shape[-1]), dim=-2)
        ]
        return torch.cat(correct, dim=-1).float().mean(dim=-1).view(self.config.replicas)

    def by_length(self, lengths: Sequence[int]) -> Float[Tensor, "replicas lengths"]:
        """Return the accuracy on new sequences of each of these lengths."""
        if not isinstance(self.model, RecurrentClassifier):
            return torch.stack([self.accuracy(self._new_sequences(n)) for n in lengths], dim=-1)
        # The state of a recurrent network does not depend on later symbols: the longest sequences contain the others.
        ids, positions = self._new_sequences(max(lengths)), torch.tensor(lengths, device=self._device) - 1
        correct = [
            self.model.prefix_logits(part).argmax(dim=-1)[..., positions] == part[..., :1]
            for part in torch.split(ids, max(1, _SYMBOLS_PER_FORWARD // ids.shape[-1]), dim=-2)
        ]
        return torch.cat(correct, dim=-2).float().mean(dim=-2).view(self.config.replicas, -1)

    def _new_sequences(self, length: int) -> Int[Tensor, "*replicas batch time"]:
        ids = move_batch(evaluation_sequences(self.task, length, EVALUATION_SEQUENCES), self._device)
        return ids.expand(self.config.replicas, *ids.shape) if self.config.replicas > 1 else ids

    def _surprisal(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch"]:
        return position_losses(self.model(ids), ids[..., 0])

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        task = config.task_as(RecallConfig)
        own = ("train_accuracy",) if task.sequences else ()
        return RecordLayout(
            ("accuracy", "loss", *own),
            answers={"by_length": len(evaluation_lengths(task.length))},
            answers_at_end_only=True,
            signals=("gradient_norm",),
        )
