"""How translation is taught: the right target so far stands before every question (Williams & Zipser 1989).

Asked on fresh sources only. An answer counts where all of it is right, <EOS> included, as greedy decoding writes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.catalogue import variant
from explorer.errors import InvalidSetting
from explorer.generation.translating import grade, surprise
from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.tasks.dates import WAYS, DatesConfig
from explorer.tasks.digits import CopyConfig, ReverseConfig, asked_lengths
from explorer.tasks.pairs import batch, beside, fresh_dates, fresh_digits
from explorer.tasks.translation import MOST_TYPED, TranslationConfig, longest_answer, source_tokens, target_tokens
from explorer.training.config import RunConfig
from explorer.training.lesson import Layout, Lesson, Measured

PER_LENGTH, PER_WAY = 100, 25  # sources of each at the end
FEW = 8  # of each on the way
METRICS = ("exact", "loss")
_AT_ONCE = 500  # rows of one replica in one forward


class TranslationLesson(Lesson):
    """Draws sources, and asks for every token of their targets."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, model, _task(config)

    @staticmethod
    def build(config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        task = _task(config)
        most = longest_answer(task, MOST_TYPED)
        if isinstance(config.model, TransformerEncoderDecoderConfig) and config.model.places < most:
            raise InvalidSetting(
                f"places = {config.model.places} is not enough: a target may have {most} tokens. Give at least {most}."
            )
        module, _, name = variant(config.model).place.partition(":")
        sources, targets = len(source_tokens(task)), len(target_tokens(task))
        model: nn.Module = getattr(import_module(module), name)(config.model, sources, targets, sources - 1, generator)
        return model

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config = self.config
        drawn = beside(
            self.task, [batch(self.task, seed, config.order, step, config.batch_size) for seed in config.seeds]
        )
        read = (drawn.source != len(source_tokens(self.task)) - 1).sum() + drawn.counted.sum()
        losses = surprise(self.model(drawn.source, drawn.given), drawn.wanted) * drawn.counted
        return losses.sum(dim=(-2, -1)) / drawn.counted.sum(dim=(-2, -1)), float(read) / config.replicas

    @torch.inference_mode()
    def evaluate(self, step: int, whole: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        task, (name, parts, trained) = self.task, _parts(self.task)
        if isinstance(task, DatesConfig):
            asked = fresh_dates(task, PER_WAY if whole else FEW)
        else:
            parts = parts if whole else trained
            asked = fresh_digits(task, asked_lengths(task)[:parts], PER_LENGTH if whole else FEW)
        replicas = self.config.replicas
        graded = [
            grade(self.model, beside(task, [asked.rows(first, first + _AT_ONCE)] * replicas))  # type: ignore[arg-type]  # a Translator
            for first in range(0, len(asked.source), _AT_ONCE)
        ]
        right, losses = (torch.cat(each, dim=-1).view(replicas, -1) for each in zip(*graded, strict=True))
        known = right.shape[-1] // parts * trained  # rows of what was trained; others count in no mean
        at = right.view(replicas, parts, -1).mean(dim=-1)
        return {
            "exact": right[:, :known].mean(dim=-1),
            "loss": losses[:, :known].sum(dim=-1) / asked.counted[:known].sum(),
            name: at if whole else torch.full((replicas, _parts(task)[1]), math.nan),
        }

    @staticmethod
    def measured(answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig) -> Measured:
        metrics, (name, *_) = {each: answers[each].numpy() for each in METRICS}, _parts(_task(config))
        return Measured(metrics, {name: answers[name].numpy()})

    @staticmethod
    def layout(config: RunConfig) -> Layout:
        name, parts, _ = _parts(_task(config))
        return Layout(METRICS, answers={name: parts}, at_end=True, signals=("gradient_norm",))


def _task(config: RunConfig) -> TranslationConfig:
    assert isinstance(config.task, ReverseConfig | CopyConfig | DatesConfig)
    return config.task


def _parts(task: TranslationConfig) -> tuple[str, int, int]:
    """What the exact match is told by at the end, in how many parts, and how many of these were trained."""
    if isinstance(task, DatesConfig):
        return "by_way", len(WAYS), len(WAYS)
    return "by_length", len(asked_lengths(task)), task.longest
