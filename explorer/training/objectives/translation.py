"""The objective of translation: predict every target token from the correct ones before it (teacher forcing).

The evaluation uses new sources only. Its exact match is the share of greedy decodings that are correct in every token,
<EOS> included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.catalogue import TaskConfig
from explorer.errors import InvalidSetting
from explorer.generation.seq2seq_decoding import grade_targets
from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.tasks.replicas import stack_replicas
from explorer.tasks.seq2seq import batches
from explorer.tasks.seq2seq import config as vocabularies
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig, evaluation_lengths
from explorer.tasks.seq2seq.pairs import PairsConfig, pair_table
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.training.config import RunConfig
from explorer.training.device import device_of, move_batch
from explorer.training.objective import Objective, RecordLayout

PER_LENGTH, PER_WAY = 100, 25  # sources of each length or spelling in the last evaluation
FEW_SOURCES = 8  # in the others
METRICS = ("exact", "loss")
_ROWS_PER_FORWARD = 500  # of one replica


class TranslationObjective(Objective):
    """Draws sources, and trains on every token of their targets."""

    @classmethod
    def variant_for(cls, task: TaskConfig) -> type[Objective]:
        return OwnPairsObjective if isinstance(task, PairsConfig) else cls

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, model, translation_task(config)

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        task = translation_task(config)
        most = vocabularies.max_answer_length(task, vocabularies.MAX_SOURCE_TOKENS)
        if isinstance(config.model, TransformerEncoderDecoderConfig) and config.model.places < most:
            raise InvalidSetting(
                f"places = {config.model.places} is not enough: a target may have {most} tokens. Give at least {most}."
            )
        sources = len(vocabularies.source_vocabulary(task))
        return sources, len(vocabularies.target_vocabulary(task)), sources - 1

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config = self.config
        drawn = stack_replicas([self._batch(seed, step) for seed in config.seeds], *batches.pair_fills(self.task))
        read = (drawn.source != len(vocabularies.source_vocabulary(self.task)) - 1).sum() + drawn.mask.sum()
        drawn = move_batch(drawn, device_of(self.model))
        losses = position_losses(self.model(drawn.source, drawn.decoder_input), drawn.targets) * drawn.mask
        return losses.sum(dim=(-2, -1)) / drawn.mask.sum(dim=(-2, -1)), float(read) / config.replicas

    def _batch(self, seed: int, step: int) -> batches.Pairs:
        return batches.batch(self.task, seed, self.config.order, step, self.config.batch_size)

    def _grade(self, pairs: batches.Pairs) -> tuple[Float[Tensor, "replicas rows"], Float[Tensor, "replicas rows"]]:
        """Return for each row whether its target is right and the sum of the losses of its tokens."""
        replicas, device = self.config.replicas, device_of(self.model)
        grades = []
        for first in range(0, len(pairs.source), _ROWS_PER_FORWARD):
            rows = stack_replicas([pairs.slice_rows(first, first + _ROWS_PER_FORWARD)] * replicas)
            grades.append(grade_targets(self.model, move_batch(rows, device)))  # type: ignore[arg-type]  # a Translator
        correct, losses = (torch.cat(each, dim=-1).view(replicas, -1).cpu() for each in zip(*grades, strict=True))
        return correct, losses

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        task, (name, parts, trained) = self.task, _answer_parts(self.task)
        if isinstance(task, DatesConfig):
            sources = batches.evaluation_dates(task, PER_WAY if full else FEW_SOURCES)
        else:
            assert not isinstance(task, PairsConfig)
            parts = parts if full else trained
            sources = batches.evaluation_digits(
                task, evaluation_lengths(task)[:parts], PER_LENGTH if full else FEW_SOURCES
            )
        replicas, (correct, losses) = self.config.replicas, self._grade(sources)
        trained_rows = correct.shape[-1] // parts * trained  # the mean leaves out the other lengths
        exact_by_part = correct.view(replicas, parts, -1).mean(dim=-1)
        return {
            "exact": correct[:, :trained_rows].mean(dim=-1),
            "loss": losses[:, :trained_rows].sum(dim=-1) / sources.mask[:trained_rows].sum(),
            name: exact_by_part if full else torch.full((replicas, _answer_parts(task)[1]), math.nan),
        }

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        name, parts, _ = _answer_parts(translation_task(config))
        return RecordLayout(METRICS, answers={name: parts}, answers_at_end_only=True, signals=("gradient_norm",))


def translation_task(config: RunConfig) -> vocabularies.TranslationConfig:
    assert isinstance(config.task, ReverseConfig | CopyConfig | DatesConfig | PairsConfig)
    return config.task


def _answer_parts(task: vocabularies.TranslationConfig) -> tuple[str, int, int]:
    """Return the name of the last evaluation's exact match by part, the number of parts, and of the trained ones."""
    if isinstance(task, DatesConfig):
        return "by_way", len(DATE_FORMATS), len(DATE_FORMATS)
    assert not isinstance(task, PairsConfig)
    return "by_length", len(evaluation_lengths(task)), task.longest


FEW_PAIRS = 200  # in an evaluation on the way


class OwnPairsObjective(TranslationObjective):
    """The objective on the pairs of a table: draws training pairs, and is evaluated on the held-out ones."""

    @classmethod
    def variant_for(cls, task: TaskConfig) -> type[Objective]:
        return cls

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        super().__init__(config, model)
        self._pairs = config.task_as(PairsConfig)
        self._table = pair_table(self._pairs)

    def _batch(self, seed: int, step: int) -> batches.Pairs:
        return batches.batch_of_table(self._pairs, self._table, seed, self.config.order, step, self.config.batch_size)

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        pairs = batches.encode_pairs(self._pairs, self._table.held_out[: None if full else FEW_PAIRS])
        correct, losses = self._grade(pairs)
        return {"exact": correct.mean(dim=-1), "loss": losses.sum(dim=-1) / pairs.mask.sum()}

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        return RecordLayout(METRICS, signals=("gradient_norm",))
