"""What reads texts with attention: the models of a run, or a real model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from torch import nn

from explorer.api.predictions import TRANSLATION, UNITS, tokenizer_of
from explorer.catalogue import model_row
from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import TokenizedInput, check_attention, has_attention, tokenize_input
from explorer.inspection.attention.attention_model import AttentionModel, attention_model
from explorer.inspection.compare import held_out_losses
from explorer.inspection.words.labelling import parse_row
from explorer.models.configs import TransformerTaggerConfig
from explorer.run_store.store import StoredRun
from explorer.tasks.own_sentences import Language, SentenceConfig
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.text import pieces
from explorer.training.record import Record

if TYPE_CHECKING:
    from explorer.hub.pretrained import Part

_LEFT_CONTEXT = 16  # tokens before a piece that can change its spelling


@dataclass(frozen=True)
class Reading:
    """A text as the tokens that a model reads, and the queries and keys of its attention.

    They are the same tokens, except in an encoder–decoder.
    """

    given: tuple[int, ...]  # the ids of the text
    ids: tuple[int, ...]  # of the queries
    tokens: tuple[str, ...]  # of the queries
    keys: tuple[str, ...]
    asked: int  # the query whose answer is of interest
    unread: str = ""  # what the model does not read of the text, in sentences


class AttentionSource(Protocol):
    """What reads texts with attention: a run, or a real model."""

    @property
    def name(self) -> str:
        """Its name for people."""

    @property
    def title(self) -> str:
        """What kind of model it is."""

    @property
    def unit(self) -> str:
        """What a token is: “letter”, “word” or “token”."""

    @property
    def colour(self) -> str:
        """A CSS variable of static/shared/base.css."""

    @property
    def steps(self) -> Sequence[int]:
        """The steps of the training whose weights are here."""

    @property
    def separator(self) -> str:
        """What stands between two tokens of a text: a space between words."""

    @property
    def predicts_in_place(self) -> bool:
        """Whether it predicts the token that stands at a position, not the next one."""

    def read(self, text: str, seed: int, step: int, part: Part) -> tuple[AttentionModel, Reading]:
        """Return a model and a text as its tokens. Raises LineageError."""

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        """Return the text of a prediction after the tokens `before`."""

    def held_out_losses(self, seed: int) -> Mapping[str, list[int] | list[float]]:
        """Return the held-out loss by step, as `steps` and `losses`."""


@dataclass(frozen=True)
class RunSource:
    """The models of a run, as readers with attention."""

    run: StoredRun | Record
    name: str
    steps: Sequence[int]
    model: Callable[..., nn.Module]  # of a seed after a step: `Run.model`

    @property
    def title(self) -> str:
        return self.run.config.title

    @property
    def unit(self) -> str:
        task = self.run.config.task
        return UNITS.get(task.tokenizer, "token") if isinstance(task, TextConfig) else "word"

    @property
    def colour(self) -> str:
        return model_row(self.run.config.model).colour

    @property
    def separator(self) -> str:
        return "" if isinstance(self.run.config.task, TextConfig) else " "

    predicts_in_place = False

    def read(self, text: str, seed: int, step: int, part: Part = "") -> tuple[AttentionModel, Reading]:
        if isinstance(self.run.config.task, TRANSLATION):
            raise InvalidSetting(
                "This run translates: its attention is shown by plot(). Patching, logit attribution and show() need a "
                'run of another task, such as explorer.load("negation-single-transformer").'
            )
        given = tokenize(self.run, text)
        model = attention_model(self.model(step=step, seed=seed))
        asked = len(given.ids) - 1 if model.layout.answers_every_token else 0
        return model, Reading(given.ids, given.ids, given.tokens, given.tokens, asked, given.unread)

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        task: Any = self.run.config.task
        if isinstance(task, TextConfig):
            tokenizer = tokenizer_of(self.run)
            return pieces(tokenizer, [outcome], before[-_LEFT_CONTEXT:])[0] or tokenizer.tokens[outcome]
        if isinstance(task, SentenceConfig):
            return Language.from_json(self.run.tokenizer).classes[outcome]
        return str(task.labels[outcome])

    def held_out_losses(self, seed: int) -> Mapping[str, list[int] | list[float]]:
        return held_out_losses(self.run.curves, self.run.config.seeds.index(seed))


def tokenize(run: StoredRun | Record, text: str) -> TokenizedInput:
    """Return a text as the tokens that the Transformer of a run reads. Raises LineageError."""
    task: Any = run.config.task
    if isinstance(task, SentenceConfig):
        check_attention(run.config)
        return tokenize_input(run.config, None, text, vocabulary=Language.from_json(run.tokenizer).vocabulary)
    if not isinstance(task, LabellingConfig) or has_attention(run.config):
        check_attention(run.config)
        tokenizer = tokenizer_of(run) if isinstance(task, TextConfig) else None
        return tokenize_input(run.config, tokenizer, text)
    if not isinstance(run.config.model, TransformerTaggerConfig):
        raise InvalidSetting(f"The model of this run is a {run.config.title}, which has no attention.")
    row = parse_row(task, text)
    return TokenizedInput(row.ids, tuple(task.vocabulary[id] for id in row.ids), "", "", (), (), False)
