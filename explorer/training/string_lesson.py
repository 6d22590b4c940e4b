"""How a string is taught: the whole of it at every step, as one sequence that is read from a cold state.

Loss in nats a transition, over all transitions of the string: what was learned is what is asked, since learning one
string by heart is the task. The only chance is in the start, and in the dice of what is written at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.catalogue import variant
from explorer.generation.sampling import Sampling, choose, dice, gumbel
from explorer.generation.writing import Writer
from explorer.models.language import State
from explorer.models.recurrence import RecurrentStringModel
from explorer.tasks.strings import StringConfig
from explorer.training.config import RunConfig
from explorer.training.lesson import Layout, Lesson, Measured

METRICS = ("loss", "accuracy")


class StringLesson(Lesson):
    """Reads one string again and again."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, cast(RecurrentStringModel, model), config.on(StringConfig)
        ids = torch.tensor([self.task.ids])
        self._ids = ids.expand(config.replicas, *ids.shape) if config.replicas > 1 else ids

    @staticmethod
    def build(config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        module, _, name = variant(config.model).place.partition(":")
        known = len(config.on(StringConfig).vocabulary)
        model: nn.Module = getattr(import_module(module), name)(config.model, known, generator)
        return model

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        surprise, _ = self._asked()
        return surprise.mean(dim=(-2, -1)), float(self.task.transitions)

    @torch.inference_mode()
    def evaluate(self, step: int, whole: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        surprise, right = self._asked()
        answers = {"loss": surprise, "accuracy": right.float()}
        return {name: each.mean(dim=(-2, -1)).view(self.config.replicas) for name, each in answers.items()}

    def _asked(self) -> tuple[Float[Tensor, "*replicas 1 transitions"], Tensor]:
        """-log p of every next character, and where it is the likeliest."""
        logits, targets = self.model(self._ids[..., :-1]), self._ids[..., 1:]
        surprise = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none").view(targets.shape)
        return surprise, logits.argmax(dim=-1) == targets

    @torch.inference_mode()
    def samples(self, step: int) -> tuple[str, ...]:
        """Text at the end alone, after the string's first character: as `write` has it, but all seeds at once."""
        config, vocabulary = self.config, self.task.vocabulary
        if not config.sample:
            return ()
        if step < config.steps:
            return ("",) * config.replicas
        noise = torch.stack([gumbel(dice(seed, 0), config.sample, len(vocabulary)) for seed in config.seeds])
        ids, state = self._ids[..., :1], State()
        written: list[Int[Tensor, "*replicas 1 1"]] = []
        for thrown in noise.unbind(1):
            features, state = self.model.features(ids, state)
            ids = choose(self.model.readout(features), thrown.view(*ids.shape, -1), Sampling())
            written.append(ids)
        rows = torch.cat(written, dim=-1).view(config.replicas, -1).tolist()
        return tuple("".join(vocabulary[id] for id in row) for row in rows)

    @staticmethod
    def measured(answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig) -> Measured:
        return Measured({name: answers[name].numpy() for name in METRICS}, {})

    @staticmethod
    def layout(config: RunConfig) -> Layout:
        return Layout(METRICS, signals=("gradient_norm",), samples=config.sample > 0)


def string_writer(model: nn.Module) -> Writer:
    """A replica that writes as it was trained: with its state, or from a row of one character, the last one."""
    return Writer(model) if cast(RecurrentStringModel, model).recurrent else Writer(model, context=1, padding=0)
