"""A model with its tokenizer, and the facts that are shown of it, wherever the model comes from.

Nothing here imports torch or the transformers library before the weights of a model are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from explorer.generation import generate
from explorer.hub.architectures import Part as Part
from explorer.inspection.attention import attend, attention_model, head_scores
from explorer.models.structure import AttentionLayout
from explorer.tokenization.text import Tokenizer, pieces
from explorer.tokenization.words import Reading, Words

if TYPE_CHECKING:
    from jaxtyping import Integer
    from numpy import ndarray
    from torch import nn

_LEFT_CONTEXT = 16  # tokens before a piece that can change its spelling
Evaluated: TypeAlias = Literal["held-out text", "sentences of the task", "this text", ""]


@dataclass(frozen=True, eq=False)
class TextAttention:
    """One kind of attention of a model to a text: of the tokens of the text, or of those of its translation."""

    model: attention_model.AttentionModel
    ids: tuple[int, ...]  # of the queries
    queries: tuple[str, ...]
    keys: tuple[str, ...]


class Model(ABC):
    """A model with its tokenizer: a `RunModel` is a run, a `RealModel` a real model.

    A `replica` is the index of a seed in `seeds`, a `step` one of `steps`; None is the end of the training.
    """

    # ---- what is known about it before it is loaded

    name: str  # in a URL
    title: str
    summary = ""  # what visitors should know of a model that was not trained here
    unit: str  # what a token is: “letter”, “word” or “token”
    separator = ""  # between two tokens of a text: a space between the words of a sentence
    colour: str  # a CSS variable of static/shared/base.css
    dash = "solid"  # the plotly dash of its lines
    cache_key: tuple[Hashable, ...]  # of the weights: every cache key of a result about this model contains it
    pool: Literal["quick", "usual"] = "quick"  # the threads for one forward pass; see `web.background.submit`
    seeds: tuple[int, ...] = (0,)  # of its replicas
    most_snapshots = 10_000  # how many of its steps can be computed for one slider
    most_generated = 10_000  # tokens of a text that can be generated at all temperatures in a few seconds
    parts: tuple[Part, ...] = ()  # the kinds of attention of an encoder–decoder: encoder, decoder, cross
    is_causal: bool  # whether a token attends to earlier tokens only
    has_rotary_positions: bool  # whether queries and keys are rotated by their positions
    predicts_in_place = False  # whether it predicts the token at a position (a masked language model), not the next one
    example_texts: tuple[str, ...]  # that it can read, in pairs that differ in one thing
    context_length: int  # tokens that it reads at once; 0: no limit
    lowercase = False  # whether texts are changed to lower case before the model reads them
    importance_problem = ""  # why head importance cannot be measured here; empty if it is not defined for its kind

    def __eq__(self, other: object) -> bool:
        """Models are equal if pages show the same for them; a page opens its models anew whenever it runs."""
        return isinstance(other, Model) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Hashable, ...]:
        return self.name, self.title, self.cache_key

    @property
    def steps(self) -> Sequence[int]:
        """The steps of the training whose weights can be shown; empty if only one state is known."""
        return ()

    def held_out_losses(self, replica: int) -> Mapping[str, list[int] | list[float]]:
        """Return the held-out loss of one seed by training step, as `steps` and `losses`."""
        return {"steps": [], "losses": []}

    @abstractmethod
    def module(self, replica: int = 0, step: int | None = None) -> nn.Module:
        """Return the model of one seed, which is shared and must not be changed. Loading takes time.

        Raises LineageError.
        """

    # ---- its attention

    @property
    @abstractmethod
    def layout(self) -> AttentionLayout:
        """Its layers and heads, and what can be ablated. Raises InvalidSetting for a model without attention."""

    def attention(
        self, text: attend.TokenizedInput, part: Part = "", replica: int = 0, step: int | None = None
    ) -> TextAttention:
        """Return one kind of attention to a text. Raises LineageError."""
        model = attention_model.attention_model(self.module(replica, step))
        return TextAttention(model, text.ids, text.tokens, text.tokens)

    @property
    @abstractmethod
    def importance_text(self) -> Evaluated:
        """On what `head_importance` measures the loss; empty where it cannot be measured."""

    @abstractmethod
    def head_importance(self, replica: int, text: str) -> head_scores.HeadImportance:
        """Return the loss without each head. `text` is read if `importance_text` is “this text”."""

    # ---- the texts that it reads

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of a model of texts; None for a model of sentences. Raises LineageError."""

    @property
    @abstractmethod
    def vocabulary_size(self) -> int:
        """The number of tokens of a language model."""

    @property
    def words(self) -> Words | None:
        """The words that a model of sentences knows; None for a model with a tokenizer."""
        return None

    def text_or_example(self, text: str | None) -> str:
        """Return what the model reads of a text, or the first example if it reads nothing."""
        if text is None or (reading := self.read_words(text)) is None:
            return self.example_texts[0] if text is None else text
        return reading.text or self.example_texts[0]

    def read_words(self, text: str) -> Reading | None:
        """Return what is read of a text by a model without a tokenizer; None for one that has a tokenizer."""
        return None if self.words is None else self.words.read(text)

    def describe_unread(self, text: str | None) -> list[str]:
        """Return a sentence about what is not read of a typed text, for a model without a tokenizer."""
        reading = None if text is None else self.read_words(text)
        return list(filter(None, [reading.describe_unread(self.example_texts[0])])) if reading else []

    @abstractmethod
    def tokenize(self, text: str, most: int | None = None) -> attend.TokenizedInput:
        """Return the tokens of a text that the model reads, at most `most` of them.

        Raises LineageError for a text that it cannot read, and for a run without attention.
        """

    def token_texts(self, ids: Sequence[int], before: Sequence[int] = ()) -> list[str]:
        """Return the text that each token adds after the tokens `before`; its name if it is special or adds none."""
        tokenizer = self.tokenizer
        assert tokenizer, "a model of texts has one"
        special = getattr(tokenizer, "special", ())
        texts = zip(ids, pieces(tokenizer, ids, before[-_LEFT_CONTEXT:]), strict=True)
        return [tokenizer.tokens[id] if id in special or not text else text for id, text in texts]

    @abstractmethod
    def default_query(self, tokens: Sequence[str]) -> int:
        """Return the position whose attention and answer are shown first."""

    @property
    @abstractmethod
    def outcomes(self) -> Sequence[str]:
        """The names of all outcomes of a prediction: the tokens of the vocabulary, or classes."""

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        """Return the text of a prediction: a token as it would follow the tokens `before`, or a class."""
        return self.outcomes[outcome] if self.tokenizer is None else self.token_texts([outcome], before)[0]

    def is_trained_position(self, tokens: Sequence[str], position: int) -> bool:
        """Return whether the training asked for a prediction at this position of a text."""
        return True

    # ---- the texts that it generates

    @abstractmethod
    def check_generates_text(self) -> None:
        """Raise InvalidSetting for a model that generates no text."""

    @property
    def prompt_start(self) -> tuple[int, ...]:
        """The tokens that stand before every prompt."""
        return ()

    def read_prompt(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        """Return the ids of a text to continue, and the parts of it that are not in the vocabulary."""
        assert self.tokenizer, "a language model has one"
        ids, unseen = generate.prompt_ids(self.tokenizer, text.lower() if self.lowercase else text)
        return [*self.prompt_start, *ids.tolist()], unseen

    @abstractmethod
    def text_generator(self, replica: int = 0, step: int | None = None) -> generate.TextGenerator:
        """Return the model, ready to generate; it may have to be loaded. Raises LineageError."""

    @abstractmethod
    def count_truncated(self, tokens: int) -> int:
        """Return how many tokens at the beginning of a prompt the model does not see when it generates."""

    def corpus_tokens(self) -> tuple[Integer[ndarray, " tokens"], bool] | None:
        """Return the tokens of the text that it learned, and whether they are held out; None where it is not here."""
        return None
