"""What pages need of a model to inspect it, wherever the model comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from explorer.errors import shorten
from explorer.generation import generate
from explorer.inspection.attention import attention_model
from explorer.models.structure import AttentionLayout
from explorer.ui.wording import quote_first, visible_whitespace
from explorer.web.background import Pool

if TYPE_CHECKING:
    from jaxtyping import Integer
    from numpy import ndarray
    from torch import nn

    from explorer.inspection.attention.attend import TokenizedInput
    from explorer.inspection.attention.head_scores import HeadImportance
    from explorer.tokenization.text import Tokenizer
    from explorer.tokenization.words import Reading, Words

_LEFT_CONTEXT = 16  # tokens before a piece that can change its spelling
Part: TypeAlias = Literal["", "encoder", "decoder", "cross"]
Evaluated: TypeAlias = Literal["held-out text", "sentences of the task", "this text", ""]


class InspectableModel(ABC):
    """A model with its tokenizer, and the facts that pages show of it.

    `stored_models.find_model` finds it by name: a `StoredModel` is a run, a `PretrainedModel` a real model.
    """

    name: str  # in a URL
    title: str

    # ---- how it is described, drawn and cached

    @property
    def summary(self) -> str:
        """What visitors should know of a model that was not trained here; empty for a run."""
        return ""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What a token is: “letter”, “word” or “token”."""

    @property
    @abstractmethod
    def colour(self) -> str:
        """A CSS variable of static/shared/base.css."""

    @property
    def dash(self) -> str:
        """The plotly dash of its lines."""
        return "solid"

    @property
    @abstractmethod
    def cache_key(self) -> tuple[Hashable, ...]:
        """A key of the weights: every cache key of a result about this model contains it."""

    @property
    def pool(self) -> Pool:
        """The threads for one forward pass; see `background.submit`."""
        return "quick"

    # ---- its weights

    @abstractmethod
    def model(self, replica: int = 0, step: int | None = None) -> nn.Module:
        """Return the model of one seed, which is shared and must not be changed. Raises LineageError.

        Loading takes time, so call it through `background.submit`.
        """

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of its replicas."""
        return (0,)

    @property
    def snapshot_steps(self) -> Sequence[int]:
        """The steps of the training whose weights can be shown; empty if only one state is known."""
        return ()

    @property
    def most_snapshots(self) -> int:
        """How many of these steps can be computed for one slider."""
        return 10_000

    def held_out_losses(self, replica: int) -> Mapping[str, list[int] | list[float]]:
        """Return the held-out loss of one seed by training step, as `steps` and `losses`."""
        return {"steps": [], "losses": []}

    # ---- its attention

    @property
    @abstractmethod
    def attention(self) -> AttentionLayout:
        """Its layers and heads, and what can be ablated. Raises InvalidSetting for a model without attention."""

    @property
    @abstractmethod
    def is_causal(self) -> bool:
        """Whether a token attends to earlier tokens only."""

    @property
    @abstractmethod
    def has_rotary_positions(self) -> bool:
        """Whether queries and keys are rotated by their positions."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The kinds of attention of an encoder-decoder: encoder, decoder, cross. Empty for a model with one kind."""
        return ()

    def attention_part(
        self, part: Part, ids: Sequence[int], replica: int = 0, step: int | None = None
    ) -> tuple[attention_model.AttentionModel, tuple[int, ...]]:
        """Return one kind of attention for a text, and the ids of its queries: of the text, or of its translation."""
        return attention_model.attention_model(self.model(replica, step)), tuple(ids)

    @property
    @abstractmethod
    def importance_text(self) -> Evaluated:
        """On what `head_importance` measures the loss; empty where it cannot be measured."""

    @property
    def importance_problem(self) -> str:
        """Why head importance cannot be measured here; empty if it is not defined for this kind of model."""
        return "The text for this measurement is not on this machine."

    @abstractmethod
    def head_importance(self, replica: int, text: str) -> HeadImportance:
        """Return the loss without each head. `text` is read if `importance_text` is “this text”."""

    # ---- the texts that it reads

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of a model of texts; None for a model of sentences. Raises DamagedRun."""

    @property
    @abstractmethod
    def vocabulary_size(self) -> int:
        """The number of tokens of a language model."""

    @property
    def words(self) -> Words | None:
        """The words that a model of sentences knows; None for a model with a tokenizer."""
        return None

    @property
    @abstractmethod
    def example_texts(self) -> tuple[str, ...]:
        """Texts that the model can read, in pairs that differ in one thing."""

    def text_or_example(self, text: str | None) -> str:
        """Return what the model reads of the visitor's text, or the first example if it reads nothing."""
        if text is None or (reading := self.read(text)) is None:
            return self.example_texts[0] if text is None else text
        return reading.text or self.example_texts[0]

    def read(self, text: str) -> Reading | None:
        """Return what is read of a text by a model without a tokenizer; None for one that has a tokenizer."""
        return None if self.words is None else self.words.read(text)

    def describe_unread(self, text: str | None) -> list[str]:
        """Return a sentence about what is not read of a typed text, for a model without a tokenizer."""
        reading = None if text is None else self.read(text)
        return list(filter(None, [reading.describe_unread(self.example_texts[0])])) if reading else []

    @property
    @abstractmethod
    def context_length(self) -> int:
        """How many tokens the model reads at once; 0 if it has no limit."""

    @abstractmethod
    def tokenize(self, text: str, most: int | None = None) -> TokenizedInput:
        """Return the tokens of a text that the model reads, at most `most` of them.

        Raises LineageError for a text that it cannot read.
        """

    def input_notes(self, text: TokenizedInput) -> list[str]:
        """Return what of a text was changed or left out for the model, in sentences."""
        notes = list[str]()
        if text.empty:
            notes.append(generate.FROM_NOTHING)
        if text.truncated:
            where = "The beginning" if text.truncated_at == "start" else "The end"
            limit = "The model reads" if len(text.ids) == self.context_length else "There is room for"
            count = f"{len(text.ids)} {self.unit}s"
            notes.append(f"{limit} {count} at once. {where} was left out: “{shorten(text.truncated)}”.")
        if text.lowercased:
            notes.append("The model was trained on lower-case letters, so the text is read in lower case.")
        for unseen, become in ((text.dropped, "left out"), (text.unknown, "read as <unk>")):
            if unseen:
                notes.append(f"The training text has no {quote_first(unseen)}: {become}.")
        return notes

    def query_tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the texts of the tokens of a translation, in an encoder-decoder."""
        raise NotImplementedError

    def default_query(self, tokens: Sequence[str]) -> int:
        """Return the position whose attention and answer are shown first."""
        return len(tokens) - 1 if self.attention.answers_every_token else 0

    @property
    @abstractmethod
    def outcome_names(self) -> Sequence[str]:
        """The names of all outcomes of a prediction: the tokens of the vocabulary, or classes."""

    @abstractmethod
    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        """Return the text of a prediction: a token as it would follow the tokens `before`, or a class."""

    @property
    def predicts_in_place(self) -> bool:
        """Whether it predicts the token that stands at a position (a masked language model), not the next one."""
        return False

    def is_trained_position(self, tokens: Sequence[str], position: int) -> bool:
        """Return whether the training asked for a prediction at this position of a text."""
        return True

    # ---- the texts that it generates

    @abstractmethod
    def check_generates_text(self) -> None:
        """Raise InvalidSetting for a model that generates no text."""

    @property
    def most_generated(self) -> int:
        """How many tokens of a text can be generated at all temperatures in a few seconds."""
        return 10_000

    @property
    def prompt_start(self) -> tuple[int, ...]:
        """The tokens that stand before every prompt."""
        return ()

    @property
    def lowercase(self) -> bool:
        """Whether texts are changed to lower case before the model reads them."""
        return False

    @abstractmethod
    def text_generator(self) -> generate.TextGenerator:
        """Return the model, ready to generate; it may have to be loaded. Raises LineageError."""

    @abstractmethod
    def count_truncated(self, tokens: int) -> int:
        """Return how many tokens at the beginning of a prompt the model does not see when it generates."""

    def corpus_tokens(self) -> tuple[Integer[ndarray, " tokens"], bool] | None:
        """Return the tokens of the text that it learned, and whether they are held out; None where it is not here."""
        return None


def following_text(tokenizer: Tokenizer, id: int, before: Sequence[int]) -> str:
    """Return the text that a token adds after others, or its name where it adds none."""
    from explorer.tokenization.text import pieces

    return visible_whitespace(pieces(tokenizer, [id], before[-_LEFT_CONTEXT:])[0] or tokenizer.tokens[id])
