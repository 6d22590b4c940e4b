"""The objective of the negation task on a visitor's own sentences: batches of rows, and the held-out sentences.

A file has hundreds of distinct sentences, so a step reads the rows of its batch and not every distinct row as
`negation.py` does. What an evaluation returns are the metrics themselves: only the training may read the file.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import Language, language_of, negation_data
from explorer.tasks.own_sentences_rows import batch_rows, sentence_rows
from explorer.training.config import RunConfig
from explorer.training.device import device_of, move_batch, on_processor
from explorer.training.objective import Objective, RecordLayout

METRICS = (
    "train_loss",
    "test_loss",
    "train_accuracy",
    "test_accuracy",
    "test_accuracy_plain",
    "test_accuracy_negated",
)
_EVALUATED_ROWS = 512  # in one forward pass


class OwnSentencesObjective(Objective):
    """Holds the rows of all sentences and the order in which each replica reads them."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model = config, model
        task = negation_data(config.task_as(NegationConfig))
        self.tokenizer = language_of(task).to_json()
        self._rows = sentence_rows(task)
        self._order = batch_rows(task, config)
        self._test = torch.tensor([s.probability > 0 for s in task.sentences])
        self._negated = torch.tensor([s.nots > 0 for s in task.sentences])

    @staticmethod
    def parse_tokenizer(text: str) -> tuple[str, int]:
        language = Language.from_json(text)
        return language.to_json(), len(language.vocabulary.tokens)

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        task = config.task_as(NegationConfig)
        tokens = len(negation_data(task).vocabulary.tokens) if vocabulary is None else vocabulary
        return tokens, task.classes, tokens - 1  # the last token is the padding

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        ids, labels, tokens = move_batch(self._rows.batch(self._order[step]), device_of(self.model))
        if self.config.replicas == 1:
            ids, labels = ids[0], labels[0]
        targets = -F.one_hot(labels, self.config.task_as(NegationConfig).classes) / labels.shape[-1]
        return (self.model(ids).log_softmax(dim=-1) * targets).sum(dim=(-2, -1)), tokens

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        logits, labels = self._logits(), self._rows.labels
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

    def is_finite(self, step: int) -> bool:
        return all(bool(parameter.isfinite().all()) for parameter in self.model.parameters())

    def _logits(self) -> Float[Tensor, "replicas sentences classes"]:
        """Return the logits of every sentence."""
        replicas, count, model = self.config.replicas, len(self._rows.labels), on_processor(self.model)
        parts = []
        for start in range(0, count, _EVALUATED_ROWS):
            indices = torch.arange(start, min(start + _EVALUATED_ROWS, count))
            ids = self._rows.batch(indices.expand(replicas, -1)).ids
            parts.append(model(ids if replicas > 1 else ids[0]).view(replicas, len(indices), -1))
        return torch.cat(parts, dim=1)

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        return RecordLayout(METRICS)
