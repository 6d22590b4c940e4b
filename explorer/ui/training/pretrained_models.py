"""Real pretrained models as models to inspect: those that the operator has opened on this machine.

Their names begin with “hub:”. Nothing of the transformers library is imported before a model is loaded.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from explorer.errors import InvalidSetting, shorten
from explorer.hub import opened, pretrained
from explorer.hub.architectures import Kind
from explorer.hub.card import ModelCard
from explorer.hub.packages import MISSING, is_installed
from explorer.inspection.attention import attention_model, head_scores
from explorer.inspection.pretrained.reader import PretrainedReader
from explorer.models.structure import AttentionLayout
from explorer.number_format import format_number
from explorer.ui.training.inspectable_model import Evaluated, InspectableModel, Part, following_text
from explorer.web.background import Pool

COLOUR = "--m-pretrained"
TEXT_EXAMPLES = (
    "The capital of France is",
    "The capital of Italy is",
    "When Mary and John went to the store, John gave a drink to",
    "When Mary and John went to the store, Mary gave a drink to",
    "blue seven mango king blue seven mango",
)
SENTENCE_EXAMPLES = (
    "She sat down on the bank of the river.",
    "She took her money to the bank.",
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the street because it was too wide.",
)
SOURCE_EXAMPLES = ("The house is small.", "The small house is red.", "I saw the bank of the river.")
TASK_EXAMPLES = {"t5": tuple(f"translate English to German: {text}" for text in SOURCE_EXAMPLES)}  # by `model_type`
_ROTARY = ("gemma3_text", "gpt_neox", "llama", "mistral", "modernbert", "phi3", "qwen2", "qwen3")
_MOST_IMPORTANCE_TOKENS = 64  # of the text on which each head is switched off in turn, a minute for 270 heads
_GENERATED_NUMBERS = 8_500_000_000  # parameters times tokens, for about ten seconds of texts at all temperatures
_SNAPSHOT_NUMBERS = 1_500_000_000  # parameters of all checkpoints of a slider, loaded in about ten seconds
_FEWEST_GENERATED = 20  # tokens


@dataclass(frozen=True)
class PretrainedModel(PretrainedReader, InspectableModel):
    """A real model that is open on this machine, with what its card says."""

    name: str
    title: str

    @property
    def summary(self) -> str:
        card = self.card
        facts = (
            f"{format_number(card.parameters / 1e6, 1 if card.parameters < 1e8 else 0)} million parameters",
            card.precision,
            f"licence {card.licence or 'not stated'}",
            f"revision {card.revision[:12]}" if card.revision else "from a local folder",
        )
        return f"{self.title}: a real {card.kind}, not trained here · {' · '.join(facts)}"

    @property
    def unit(self) -> str:
        return "token"

    @property
    def colour(self) -> str:
        return COLOUR

    @property
    def cache_key(self) -> tuple[Hashable, ...]:
        return (self.name, self.card.revision, self.card.fingerprint)

    @property
    def pool(self) -> Pool:
        return "usual"  # a forward pass takes tenths of a second, and the first one loads the model

    @property
    def snapshot_steps(self) -> Sequence[int]:
        return self.steps

    @property
    def most_snapshots(self) -> int:
        return max(3, _SNAPSHOT_NUMBERS // self.card.parameters)

    def model(self, replica: int = 0, step: int | None = None) -> pretrained.PretrainedModule:
        return self.module(step)

    # ---- its attention

    @property
    def attention(self) -> AttentionLayout:
        card = self.card
        return AttentionLayout(card.layers, card.heads, card.kind == "decoder", positions=False, answers=card.predicts)

    @property
    def is_causal(self) -> bool:
        return self.card.kind == "decoder"

    @property
    def has_rotary_positions(self) -> bool:
        return self.card.model_type in _ROTARY

    def attention_part(
        self, part: Part, ids: Sequence[int], replica: int = 0, step: int | None = None
    ) -> tuple[attention_model.AttentionModel, tuple[int, ...]]:
        return super().attention_part(part, ids, step=step)

    @property
    def importance_text(self) -> Evaluated:
        return "this text" if self.card.kind == "decoder" and self.card.predicts else ""

    @property
    def importance_problem(self) -> str:
        return ""  # it is measured for models that continue a text

    def head_importance(self, replica: int, text: str) -> head_scores.HeadImportance:
        return head_scores.head_importance_on(self.model().part(), self.tokenize(text, _MOST_IMPORTANCE_TOKENS).ids)

    # ---- the texts that it reads

    @property
    def vocabulary_size(self) -> int:
        return self.card.vocabulary

    @property
    def example_texts(self) -> tuple[str, ...]:
        if self.parts:
            return TASK_EXAMPLES.get(self.card.model_type, SOURCE_EXAMPLES)
        return TEXT_EXAMPLES if self.is_causal else SENTENCE_EXAMPLES

    @property
    def context_length(self) -> int:
        return self.card.context

    def query_tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.token_texts(ids))

    @property
    def predicts_in_place(self) -> bool:
        return self.card.kind == "encoder"

    @property
    def outcome_names(self) -> Sequence[str]:
        return self.tokenizer.tokens[: self.card.vocabulary]

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        return following_text(self.tokenizer, outcome, before)

    # ---- the texts that it generates

    @property
    def most_generated(self) -> int:
        return max(_FEWEST_GENERATED, _GENERATED_NUMBERS // self.card.parameters)


def find_pretrained(name: str) -> PretrainedModel:
    """Return the opened model that a URL names, as in “hub:gpt2”. Raises InvalidSetting if it is not open here."""
    short = name.removeprefix(opened.PREFIX)
    try:
        return _as_model(opened.find_card(name))
    except InvalidSetting:
        how = f"The operator opens it with “lineage open {shorten(short)}”."
        raise InvalidSetting(
            f"The real model “{shorten(short)}” is not open on this machine. {how if is_installed() else MISSING}"
        ) from None


def pretrained_titles(*kinds: Kind) -> dict[str, str]:
    """Return the titles of the opened models of these kinds, by the name in a URL, for a menu."""
    models = [_as_model(card) for card in opened.opened_models() if card.kind in kinds]
    return {model.name: f"{model.title} (real, {model.attention.size})" for model in models}


def _as_model(card: ModelCard) -> PretrainedModel:
    return PretrainedModel(card, f"{opened.PREFIX}{card.name}", card.name)
