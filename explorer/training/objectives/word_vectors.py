"""The objective of word vectors: tell a true neighbour from noise words (Mikolov et al. 2013b, eq. 4).

The loss is in nats per row of a batch. It is evaluated on rows that are drawn from the same text, so it shows whether
training goes on, and not whether the vectors are good. For that the analogies and categories of the grammar are known;
in another text the analogies are English pairs of words that differ in gender, where the text has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.models.word_vectors import WordVectors, negative_sampling_loss
from explorer.tasks.replicas import stack_replicas
from explorer.tasks.word_similarity import analogy_hits, purity, questions_of, unit_vectors
from explorer.tasks.word_vectors import Batch, WordVectorsConfig, draw_batch, word_data
from explorer.tokenization.word_level import WordLevel
from explorer.training.config import RunConfig
from explorer.training.device import device_of, move_batch
from explorer.training.objective import Objective, RecordLayout

EVALUATED_ROWS = 4_096  # of the text, the same for all models and seeds
ANALOGIES, RAW_ANALOGIES, PURITY = "analogy_accuracy", "analogy_accuracy_raw", "neighbour_purity"


class WordVectorsObjective(Objective):
    """Draws words with their neighbours and noise words."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model = config, cast(WordVectors, model)
        task = config.task_as(WordVectorsConfig)
        self.data = word_data(task)
        self.tokenizer = WordLevel(self.data.index).to_json()
        self._questions = questions_of(task, self.data.index)
        self._predicts_neighbours = self.model.predicts_neighbours
        self._device = device_of(model)
        evaluated = stack_replicas([self._batch(0, "evaluation", EVALUATED_ROWS)] * config.replicas)
        self._evaluated = move_batch(evaluated, self._device)

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        return (len(word_data(config.task_as(WordVectorsConfig)).words) if vocabulary is None else vocabulary,)

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config = self.config
        batches = [self._batch(seed, f"{config.order}/{step}", config.batch_size) for seed in config.seeds]
        batch = move_batch(stack_replicas(batches), self._device)
        return negative_sampling_loss(self.model(*batch)), float(config.batch_size)

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        vectors = self.model.embedding.weight.detach()
        unit = unit_vectors(vectors.view(self.config.replicas, *vectors.shape[-2:]).cpu().numpy())
        answers = {"loss": negative_sampling_loss(self.model(*self._evaluated)).view(self.config.replicas)}
        for name, exclude in ((ANALOGIES, True), (RAW_ANALOGIES, False)):
            hits = [torch.from_numpy(analogy_hits(each, self._questions, exclude=exclude)) for each in unit]
            answers[name] = torch.stack(hits).float().mean(dim=-1)  # NaN without questions
        if self.config.task_as(WordVectorsConfig).corpus == "grammar":
            pure = [torch.from_numpy(purity(each, self.data.words)) for each in unit]
            answers[PURITY] = torch.stack(pure).float().mean(dim=-1)
        return answers

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        return RecordLayout(metric_names(config), signals=("gradient_norm",))

    def _batch(self, seed: int, step: str, size: int) -> Batch:
        return draw_batch(self.data, seed, step, size, self._predicts_neighbours)


def metric_names(config: RunConfig) -> tuple[str, ...]:
    """Return the metrics of a run; only the words of the grammar have categories."""
    planted = config.task_as(WordVectorsConfig).corpus == "grammar"
    return ("loss", ANALOGIES, RAW_ANALOGIES, *([PURITY] if planted else []))
