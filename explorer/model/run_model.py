"""A run as a model: its weights, and what its configuration says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from explorer.byte_cache import cached
from explorer.catalogue import model_row, task_row
from explorer.errors import DamagedRun, InvalidSetting
from explorer.generation import generate
from explorer.inspection import load_model
from explorer.inspection.attention import attend, head_scores
from explorer.inspection.compare import held_out_losses
from explorer.inspection.words import labelling
from explorer.model.example_texts import SENTENCE_EXAMPLES, TASK_EXAMPLES
from explorer.model.model import Evaluated, Model
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
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.string import StringConfig
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.token_arrays import load_tokens
from explorer.tokenization.characters import Characters
from explorer.tokenization.text import Tokenizer, from_json
from explorer.tokenization.words import Reading, Words
from explorer.training.objectives import string
from explorer.training.record import Record

if TYPE_CHECKING:
    from jaxtyping import Integer
    from numpy import ndarray
    from torch import nn

_UNITS = {"char": "letter", "word": "word"}  # by tokenizer


class RunModel(Model):
    """A run with weights: a stored one, or the record of a training.

    name, title: by default the key of the run, and the title of its configuration
    """

    def __init__(self, run: StoredRun | Record, name: str = "", title: str = "") -> None:
        self.run, self.config = run, run.config
        self.name, self.title = name or run.key, title or run.config.title
        self.cache_key, self.seeds = run.cache_key, tuple(run.config.seeds)
        self._loaded: tuple[int | None, load_model.LoadedModel] | None = None  # of the step that was used last
        task, model, row = run.config.task, run.config.model, model_row(run.config.model)
        self.colour, self.dash = row.colour, row.dash
        self.unit, self.separator, self.context_length = "word", " ", getattr(task, "max_length", 0)
        if isinstance(task, TextConfig):
            self.unit, self.separator, self.context_length = _UNITS.get(task.tokenizer, "token"), "", task.context
        if isinstance(model, TransformerEncoderConfig):
            self.context_length = model.window
        self.lowercase = bool(getattr(task, "lower", False))
        self.is_causal = isinstance(model, TransformerTextConfig) or bool(getattr(model, "causal", False))
        self.has_rotary_positions = getattr(model, "positions", "") == "rotary"
        self.example_texts = TASK_EXAMPLES.get(task_row(task).name, SENTENCE_EXAMPLES)
        if not isinstance(task, SentimentConfig):
            self.importance_problem = "The text for this measurement is not on this machine."

    # ---- its weights

    def load_replicas(self, step: int | None = None) -> load_model.LoadedModel:
        """Return the models of all seeds, which are shared and must not be changed. Raises DamagedRun."""
        if self._loaded is None or self._loaded[0] != step:
            self._loaded = step, load_model.shared_model(self.run, step)
        return self._loaded[1]

    def module(self, replica: int = 0, step: int | None = None) -> nn.Module:
        if isinstance(self.run, StoredRun):
            return load_model.shared_replica(self.run, replica, step)
        return self.load_replicas(step).single_replica(replica)

    @property
    def steps(self) -> list[int]:
        return self.run.snapshot_steps() if isinstance(self.run, StoredRun) else sorted(self.run.snapshots)

    def held_out_losses(self, replica: int) -> Mapping[str, list[int] | list[float]]:
        return held_out_losses(self.run.curves, replica)

    # ---- its attention

    @property
    def layout(self) -> AttentionLayout:
        model = self.config.model
        if isinstance(model, TransformerEncoderConfig):
            return AttentionLayout(model.layers, model.heads, False, True, answers_every_token=False)
        if isinstance(model, TransformerTextConfig):
            return AttentionLayout(model.layers, model.heads, True, model.positions != "none")
        is_agreement = isinstance(self.config.task, AgreementConfig)
        if is_agreement and isinstance(model, TransformerTaggerConfig) and model.attention:
            return AttentionLayout(model.layers, model.heads, False, model.positions != "none")
        attend.check_attention(self.config)
        raise AssertionError("check_attention raises for a model without attention")

    @property
    def importance_text(self) -> Evaluated:
        task = self.config.task
        if isinstance(task, TextConfig):
            return "held-out text" if corpora.is_available(task) else ""
        return "" if isinstance(task, SentimentConfig) else "sentences of the task"

    def head_importance(self, replica: int, text: str) -> head_scores.HeadImportance:
        return head_scores.head_importance(self.run, replica)

    # ---- the texts that it reads

    @property
    def tokenizer(self) -> Tokenizer | None:
        task = self.config.task
        if isinstance(task, StringConfig):
            return Characters(task.vocabulary)
        if not isinstance(task, TextConfig):
            return None
        if not self.run.tokenizer:
            raise DamagedRun(f"Run {self.run.key} has no tokenizer: it cannot read or generate text. Train it again.")
        return _load_tokenizer(self.run.tokenizer)

    @property
    def vocabulary_size(self) -> int:
        return len(self.tokenizer.tokens) if self.tokenizer else 0

    @cached_property
    def language(self) -> Language:
        """The words and the classes of a model that reads sentences."""
        return Language.from_json(self.run.tokenizer if isinstance(self.config.task, SentenceConfig) else "")

    @property
    def words(self) -> Words | None:
        task = self.config.task
        if isinstance(task, AgreementConfig):
            return Words(task.vocabulary, first=PAD, last=PAD, padding=PAD)
        return None if isinstance(task, TextConfig) else self.language.vocabulary

    def read_words(self, text: str) -> Reading | None:
        task = self.config.task
        return read_source(task, text) if isinstance(task, TRANSLATION_CONFIGS) else super().read_words(text)

    def tokenize(self, text: str, most: int | None = None) -> attend.TokenizedInput:
        task: Any = self.config.task
        if isinstance(task, LabellingConfig) and not attend.has_attention(self.config):
            if not isinstance(self.config.model, TransformerTaggerConfig):
                raise InvalidSetting(f"The model of this run is a {self.config.title}, which has no attention.")
            ids = labelling.parse_row(task, text).ids
            return attend.TokenizedInput(ids, tuple(task.vocabulary[id] for id in ids), "", "", (), (), False)
        attend.check_attention(self.config)
        found = attend.tokenize_input(self.config, self.tokenizer, text, vocabulary=self.language.vocabulary)
        if most is None or len(found.ids) <= most:
            return found
        truncated = found.truncated + "".join(found.tokens[:-most])
        return replace(
            found, ids=found.ids[-most:], tokens=found.tokens[-most:], truncated=truncated, truncated_at="start"
        )

    def default_query(self, tokens: Sequence[str]) -> int:
        return 0 if isinstance(self.config.model, TransformerEncoderConfig) else len(tokens) - 1

    @property
    def outcomes(self) -> Sequence[str]:
        task: Any = self.config.task
        if isinstance(task, LabellingConfig):
            return task.labels
        return self.language.classes if self.tokenizer is None else self.tokenizer.tokens

    def is_trained_position(self, tokens: Sequence[str], position: int) -> bool:
        if not isinstance(self.config.task, AgreementConfig):
            return True
        verb = next((i for i, word in enumerate(tokens) if word in VERBS), len(tokens))
        return position == verb - 1 or (verb < len(tokens) and position == len(tokens) - 1 > verb)

    # ---- the texts that it generates

    def check_generates_text(self) -> None:
        if not isinstance(self.config.task, TextConfig | StringConfig):
            raise InvalidSetting(
                f"This run learned the task {task_row(self.config.task).name}, so it is no language model. Use a run "
                'of the task text or string, such as explorer.load("text-transformer").'
            )

    def text_generator(self, replica: int = 0, step: int | None = None) -> generate.TextGenerator:
        self.check_generates_text()
        tokenizer = self.tokenizer
        if isinstance(self.config.task, TextConfig) and tokenizer:
            return generate.TextGenerator.for_task(self.module(replica, step), self.config.task, tokenizer)
        return string.string_generator(self.module(replica, step))

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


_load_tokenizer = cached()(from_json)
