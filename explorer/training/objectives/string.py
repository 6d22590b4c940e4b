"""The objective of memorizing one string: all of it at every step, as one sequence that starts with a zero state.

The loss is in nats per transition, over all transitions of the string. Training and evaluation data are the same,
because the task is to memorize the string. Only the initialization and the sampled text are random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.generation.generate import TextGenerator
from explorer.generation.sampling import Sampling, choose, gumbel_noise, noise_generator
from explorer.models.language import State
from explorer.models.recurrence import RecurrentStringModel
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.tasks.string import StringConfig
from explorer.training.config import RunConfig
from explorer.training.device import device_of, on_processor
from explorer.training.objective import Objective, RecordLayout

METRICS = ("loss", "accuracy")


class StringObjective(Objective):
    """Trains on one string."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, cast(RecurrentStringModel, model), config.task_as(StringConfig)
        ids = torch.tensor([self.task.ids], device=device_of(model))
        self._ids = ids.expand(config.replicas, *ids.shape) if config.replicas > 1 else ids

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        return (len(config.task_as(StringConfig).vocabulary),)

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        surprisal, _ = self._surprisal_and_hits()
        return surprisal.mean(dim=(-2, -1)), float(self.task.transitions)

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        surprisal, correct = self._surprisal_and_hits()
        answers = {"loss": surprisal, "accuracy": correct.float()}
        return {name: each.mean(dim=(-2, -1)).view(self.config.replicas) for name, each in answers.items()}

    def baselines(self) -> dict[str, float]:
        counts = torch.tensor(self.task.ids[1:]).bincount().double() / self.task.transitions
        return {"accuracy": float(counts.max()), "loss": float(torch.special.entr(counts).sum())}

    def _surprisal_and_hits(self) -> tuple[Float[Tensor, "*replicas 1 transitions"], Tensor]:
        """Return -log p of every next character, and whether it is the most probable one."""
        logits, targets = self.model(self._ids[..., :-1]), self._ids[..., 1:]
        return position_losses(logits, targets), logits.argmax(dim=-1) == targets

    @torch.inference_mode()
    def generate_samples(self, step: int) -> tuple[str, ...]:
        """Generate text after the string's first character, at the end only, for all seeds at once."""
        config, vocabulary = self.config, self.task.vocabulary
        if not config.sample:
            return ()
        if step < config.steps:
            return ("",) * config.replicas
        noise = torch.stack(
            [gumbel_noise(noise_generator(seed, 0), config.sample, len(vocabulary)) for seed in config.seeds]
        )
        model, ids, state = on_processor(self.model), self._ids[..., :1].cpu(), State()
        generated: list[Int[Tensor, "*replicas 1 1"]] = []
        for noise_at_step in noise.unbind(1):
            features, state = model.features(ids, state)
            ids = choose(model.readout(features), noise_at_step.view(*ids.shape, -1), Sampling())
            generated.append(ids)
        rows = torch.cat(generated, dim=-1).view(config.replicas, -1).tolist()
        return tuple("".join(vocabulary[id] for id in row) for row in rows)

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        return RecordLayout(METRICS, signals=("gradient_norm",), samples=config.sample > 0)


def string_generator(model: nn.Module) -> TextGenerator:
    """Return a generator that reads as the replica was trained: with its state, or only the last character."""
    return (
        TextGenerator(model)
        if cast(RecurrentStringModel, model).recurrent
        else TextGenerator(model, context=1, padding=0)
    )
