"""The objective of the pairs task: the pairs of a table, of which an evaluation asks for the held-out ones."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.catalogue import TaskConfig
from explorer.tasks.seq2seq.batches import Pairs, batch_of_table, encode_pairs
from explorer.tasks.seq2seq.own_pairs import pair_table
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.training.config import RunConfig
from explorer.training.objective import Objective, RecordLayout
from explorer.training.objectives.translation import METRICS, TranslationObjective

FEW_PAIRS = 200  # in an evaluation on the way


class OwnPairsObjective(TranslationObjective):
    """Draws pairs of the training part."""

    @classmethod
    def variant_for(cls, task: TaskConfig) -> type[Objective]:
        return cls

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        super().__init__(config, model)
        self._pairs = config.task_as(PairsConfig)
        self._table = pair_table(self._pairs)

    def _batch(self, seed: int, step: int) -> Pairs:
        return batch_of_table(self._pairs, self._table, seed, self.config.order, step, self.config.batch_size)

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        pairs = encode_pairs(self._pairs, self._table.held_out[: None if full else FEW_PAIRS])
        correct, losses = self._grade(pairs)
        return {"exact": correct.mean(dim=-1), "loss": losses.sum(dim=-1) / pairs.mask.sum()}

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        return RecordLayout(METRICS, signals=("gradient_norm",))
