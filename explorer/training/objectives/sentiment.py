"""The objective of the task `sentiment`: cross-entropy of the class of a sentence.

What an evaluation returns are the metrics themselves: the loss on validation data and the accuracy on each part of the
test, reviews and composed sentences apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from explorer.errors import DamagedRun
from explorer.models.layers import learning
from explorer.seeds import generator
from explorer.tasks.negation import SentenceRows
from explorer.tasks.own_sentences import Language
from explorer.tasks.sentiment.config import CLASSES, TESTED, SentimentConfig
from explorer.tasks.sentiment.data import batches, example_rows, sentiment_data
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.tokenization.english import Pieces
from explorer.training.config import RunConfig
from explorer.training.objective import RecordLayout
from explorer.training.objectives.negation import SentencesObjective

_TRAINING_ROWS = 1_000  # of the training data, on which an evaluation computes the loss
_SUBSETS = {"reviews_negated": "reviews", "negated": "new_words"}  # the negated sentences of another part
METRICS = ("train_loss", "val_loss", "val_error", "test_loss", *(f"test_accuracy_{part}" for part in TESTED))


class _Part(NamedTuple):
    """Sentences of an evaluation, in the order of their lengths."""

    rows: SentenceRows
    is_negated: Bool[Tensor, " sentences"]


class SentimentObjective(SentencesObjective):
    """Holds the sentences as rows; a step reads those of its batch."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self._classes = config, model, len(CLASSES)
        task = sentiment_data(config.task_as(SentimentConfig))
        self.tokenizer = Language(task.vocabulary, task.classes).to_json()
        padding, training = task.vocabulary.id(task.vocabulary.padding), task.training
        self._rows = example_rows(training, padding)
        order = batches(self._rows.lengths, config.seeds, config.order, config.batch_size, config.steps)
        self._batches = list(order)
        measured = {"train": training[:: max(1, len(training) // _TRAINING_ROWS)], **task.validation, **task.test}
        self._parts = {}
        for name in measured.keys() - _SUBSETS.keys():
            examples = sorted(measured[name], key=lambda each: len(each.ids))
            negated = torch.tensor([each.negated for each in examples])
            self._parts[name] = _Part(example_rows(examples, padding), negated)
        self._majorities = torch.tensor([task.majority(part) for part in TESTED])

    @staticmethod
    def parse_tokenizer(text: str) -> tuple[str, int]:
        language = Language.from_json(text)
        if not isinstance(language.vocabulary, Pieces) or language.classes != CLASSES:
            raise DamagedRun("The words of this run are not those of English sentences. Train it again.")
        return language.to_json(), len(language.vocabulary.tokens)

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        tokens = vocabulary or len(sentiment_data(config.task_as(SentimentConfig)).vocabulary.tokens)
        return tokens, len(CLASSES), tokens - 1  # the last token is the padding

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        purpose = f"dropout/{self.config.order}/{step}"
        with learning([generator(seed, purpose) for seed in self.config.seeds]):
            return super().losses(step)

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        measured, correct = {}, {}
        for name, part in self._parts.items():
            logits, labels = self._logits(part.rows), part.rows.labels
            correct[name] = (logits.argmax(dim=-1) == labels).double()
            measured[name] = position_losses(logits, labels).double().mean(dim=-1)
        for name, whole in _SUBSETS.items():
            correct[name] = correct[whole][:, self._parts[whole].is_negated]
        return {
            "train_loss": measured["train"],
            # Reviews and composed sentences count equally.
            "val_loss": (measured["val_reviews"] + measured["val_composed"]) / 2,
            "val_error": 1 - (correct["val_reviews"].mean(dim=-1) + correct["val_composed"].mean(dim=-1)) / 2,
            "test_loss": measured["reviews"],
            **{f"test_accuracy_{part}": correct[part].mean(dim=-1) for part in TESTED},
            "majority": self._majorities.expand(self.config.replicas, -1),
        }

    def baselines(self) -> dict[str, float]:
        return {f"test_accuracy_{part}": float(share) for part, share in zip(TESTED, self._majorities, strict=True)}

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        return RecordLayout(METRICS, {"majority": len(TESTED)})
