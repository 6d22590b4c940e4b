"""A run as a model to inspect: its weights, and what its configuration says about them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from explorer.byte_cache import cached
from explorer.catalogue import ModelRow, model_row, task_row
from explorer.errors import DamagedRun, InvalidSetting
from explorer.generation import generate
from explorer.inspection import load_model
from explorer.inspection.attention import attend, head_scores
from explorer.inspection.compare import held_out_losses
from explorer.models.configs import (
    FeedforwardTextConfig,
    NgramTextConfig,
    TransformerEncoderConfig,
    TransformerTaggerConfig,
    TransformerTextConfig,
)
from explorer.models.context_window import window_start
from explorer.models.structure import AttentionLayout
from explorer.run_store.store import StoredRun
from explorer.tasks.own_sentences import Language, SentenceConfig
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.seq2seq.config import TRANSLATION_CONFIGS, read_source
from explorer.tasks.sequence_labelling.agreement import VERBS, AgreementConfig
from explorer.tasks.sequence_labelling.config import PAD
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.token_arrays import load_tokens
from explorer.tokenization.text import Tokenizer, from_json
from explorer.tokenization.words import Reading, Words
from explorer.training.config import RunConfig
from explorer.training.record import Record
from explorer.ui.training.inspectable_model import Evaluated, InspectableModel, following_text
from explorer.ui.training.model_input import AGREEMENT_EXAMPLES, SENTENCE_EXAMPLES, TASK_EXAMPLES, TEXT_EXAMPLES

if TYPE_CHECKING:
    from jaxtyping import Integer
    from numpy import ndarray
    from torch import nn

UNITS = {"char": "letter", "word": "word"}  # by tokenizer


@dataclass(frozen=True)
class StoredModel(InspectableModel):
    """A run with weights, and its name and title."""

    name: str  # in a URL
    title: str
    run: StoredRun | Record

    @property
    def config(self) -> RunConfig:
        return self.run.config

    @property
    def row(self) -> ModelRow:
        return model_row(self.config.model)

    @property
    def unit(self) -> str:
        task = self.config.task
        return UNITS.get(task.tokenizer, "token") if isinstance(task, TextConfig) else "word"

    @property
    def colour(self) -> str:
        return self.row.colour

    @property
    def dash(self) -> str:
        return self.row.dash

    @property
    def cache_key(self) -> tuple[Hashable, ...]:
        """A key of these weights; contains the SHA-256 of an own text, for `background.drop_results`."""
        if isinstance(self.run, StoredRun):
            return self.run.cache_key
        return (self.config.task_as(TextConfig).text, self.run.key, id(self.run))

    @property
    def tokenizer(self) -> Tokenizer | None:
        if self.run.tokenizer and not isinstance(self.config.task, SentenceConfig):
            return _load_tokenizer(self.run.tokenizer)
        if isinstance(self.config.task, TextConfig):
            raise DamagedRun(f"Run {self.run.key} has no tokenizer: it cannot read or write. Train it again.")
        return None

    @property
    def _language(self) -> Language:
        """The words and the classes of a model that reads sentences."""
        return Language.from_json(self.run.tokenizer if isinstance(self.config.task, SentenceConfig) else "")

    def model(self, replica: int = 0, step: int | None = None) -> nn.Module:
        weights_key = _WeightsKey(self.cache_key, replica, step, self.run)
        # A model trained on a visitor's own text is not cached, because the cache would outlive the visit.
        return _model(weights_key) if isinstance(self.run, StoredRun) else _load_weights(weights_key)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.config.seeds)

    @property
    def snapshot_steps(self) -> list[int]:
        return self.run.snapshot_steps() if isinstance(self.run, StoredRun) else sorted(self.run.snapshots)

    def held_out_losses(self, replica: int) -> Mapping[str, list[int] | list[float]]:
        return held_out_losses(self.run.curves, replica)

    @property
    def attention(self) -> AttentionLayout:
        model = self.config.model
        if isinstance(model, TransformerEncoderConfig):
            return AttentionLayout(model.layers, model.heads, False, True, answers_every_token=False)
        if isinstance(model, TransformerTextConfig):
            return AttentionLayout(model.layers, model.heads, True, model.positions != "none")
        if (
            isinstance(self.config.task, AgreementConfig)
            and isinstance(model, TransformerTaggerConfig)
            and model.attention
        ):
            return AttentionLayout(model.layers, model.heads, False, model.positions != "none")
        attend.check_attention(self.config)
        raise AssertionError("check_attention raises for a model without attention")

    @property
    def is_causal(self) -> bool:
        model = self.config.model
        return isinstance(model, TransformerTextConfig) or bool(getattr(model, "causal", False))

    @property
    def has_rotary_positions(self) -> bool:
        return getattr(self.config.model, "positions", "") == "rotary"

    @property
    def importance_text(self) -> Evaluated:
        task = self.config.task
        if isinstance(task, TextConfig):
            return "held-out text" if corpora.is_available(task) else ""
        return "" if isinstance(task, SentimentConfig) else "sentences of the task"

    @property
    def importance_problem(self) -> str:
        return "" if isinstance(self.config.task, SentimentConfig) else super().importance_problem

    def head_importance(self, replica: int, text: str) -> head_scores.HeadImportance:
        return head_scores.head_importance(self.run, replica)

    @property
    def words(self) -> Words | None:
        task = self.config.task
        if isinstance(task, AgreementConfig):
            return Words(task.vocabulary, first=PAD, last=PAD, padding=PAD)
        return None if isinstance(task, TextConfig) else self._language.vocabulary

    def read(self, text: str) -> Reading | None:
        task = self.config.task
        return read_source(task, text) if isinstance(task, TRANSLATION_CONFIGS) else super().read(text)

    @property
    def example_texts(self) -> tuple[str, ...]:
        if isinstance(self.config.task, TextConfig):
            return TEXT_EXAMPLES
        if isinstance(self.config.task, AgreementConfig):
            return AGREEMENT_EXAMPLES
        return TASK_EXAMPLES.get(task_row(self.config.task).name, SENTENCE_EXAMPLES)

    @property
    def context_length(self) -> int:
        if isinstance(self.config.model, TransformerEncoderConfig):
            return self.config.model.window
        if isinstance(self.config.task, AgreementConfig):
            return self.config.task.max_length
        return self.config.task_as(TextConfig).context

    @property
    def vocabulary_size(self) -> int:
        return len(self.tokenizer.tokens) if self.tokenizer else 0

    def tokenize(self, text: str, most: int | None = None) -> attend.TokenizedInput:
        found = attend.tokenize_input(self.config, self.tokenizer, text, vocabulary=self._language.vocabulary)
        if most is None or len(found.ids) <= most:
            return found
        truncated = found.truncated + "".join(found.tokens[:-most])
        return replace(
            found, ids=found.ids[-most:], tokens=found.tokens[-most:], truncated=truncated, truncated_at="start"
        )

    @property
    def outcome_names(self) -> Sequence[str]:
        if isinstance(self.config.task, AgreementConfig):
            return self.config.task.labels
        return self._language.classes if self.tokenizer is None else self.tokenizer.tokens

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        tokenizer = self.tokenizer
        return self.outcome_names[outcome] if tokenizer is None else following_text(tokenizer, outcome, before)

    def is_trained_position(self, tokens: Sequence[str], position: int) -> bool:
        if not isinstance(self.config.task, AgreementConfig):
            return True
        verb = next((i for i, word in enumerate(tokens) if word in VERBS), len(tokens))
        return position == verb - 1 or (verb < len(tokens) and position == len(tokens) - 1 > verb)

    def check_generates_text(self) -> None:
        if not isinstance(self.config.task, TextConfig):
            raise InvalidSetting(
                f"The run “{self.name}” learned {task_row(self.config.task).title.lower()}, it cannot write. "
                "Choose a language model above."
            )

    @property
    def lowercase(self) -> bool:
        return bool(getattr(self.config.task, "lower", False))

    def text_generator(self) -> generate.TextGenerator:
        assert self.tokenizer, "a run on text has one"
        return generate.TextGenerator.for_task(self.model(), self.config.task_as(TextConfig), self.tokenizer)

    def count_truncated(self, tokens: int) -> int:
        model = self.config.model
        if isinstance(model, TransformerTextConfig):
            return window_start(tokens, self.context_length)
        if isinstance(model, NgramTextConfig):
            return 0 if model.cache else max(0, tokens - model.n + 1)
        return max(0, tokens - model.window) if isinstance(model, FeedforwardTextConfig) else 0

    def corpus_tokens(self) -> tuple[Integer[ndarray, " tokens"], bool] | None:
        task = self.config.task_as(TextConfig)
        if not corpora.is_available(task):
            return None
        arrays = load_tokens(task, corpora.load_text(task)).arrays
        return (arrays["held_out"], True) if "held_out" in arrays else (arrays["training"], False)


@dataclass(frozen=True)
class _WeightsKey:
    cache_key: tuple[Hashable, ...]
    replica: int
    step: int | None
    run: StoredRun | Record = field(compare=False)


def _load_weights(weights_key: _WeightsKey) -> nn.Module:
    return load_model.load_model(weights_key.run, weights_key.step).single_replica(weights_key.replica)


_model = cached()(_load_weights)


@cached()
def _load_tokenizer(text: str) -> Tokenizer:
    return from_json(text)
