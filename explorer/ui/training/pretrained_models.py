"""Real pretrained models as models to inspect: those that the operator has opened on this machine.

Their names begin with “hub:”. Nothing of the transformers library is imported before a model is loaded.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.errors import InvalidSetting, shorten
from explorer.hub import opened
from explorer.hub.architectures import Kind
from explorer.hub.card import ModelCard
from explorer.hub.packages import MISSING, is_installed
from explorer.models.attention_layout import AttentionLayout
from explorer.number_format import format_number
from explorer.ui.training.inspectable_model import Evaluated, InspectableModel, Part, following_text
from explorer.web.background import Pool

if TYPE_CHECKING:
    from explorer.generation.generate import TextGenerator
    from explorer.hub.pretrained import PretrainedModule
    from explorer.hub.tokenizer import PretrainedTokenizer
    from explorer.inspection.attention.attend import TokenizedInput
    from explorer.inspection.attention.attention_model import AttentionModel
    from explorer.inspection.attention.head_scores import HeadImportance

COLOUR = "--m-pretrained"
TEXT_EXAMPLES = (
    "The capital of France is",
    "The capital of Italy is",
    "When Mary and John went to the store, John gave a drink to",
    "When Mary and John went to the store, Mary gave a drink to",
    "vork plim dax tuv vork plim dax",
)
SENTENCE_EXAMPLES = (
    "She sat down on the bank of the river.",
    "She took her money to the bank.",
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the street because it was too wide.",
)
SOURCE_EXAMPLES = ("The house is small.", "The small house is red.", "I saw the bank of the river.")
TASK_EXAMPLES = {"t5": tuple(f"translate English to German: {text}" for text in SOURCE_EXAMPLES)}  # by `model_type`
MASKS = ("[MASK]", "<mask>")  # tokens that an encoder was trained to predict
_ROTARY = ("gemma3_text", "gpt_neox", "llama", "mistral", "modernbert", "phi3", "qwen2", "qwen3")
_MOST_IMPORTANCE_TOKENS = 64  # of the text on which each head is switched off in turn, a minute for 270 heads
_MOST_TRANSLATED = 64  # tokens
_GENERATED_NUMBERS = 8_500_000_000  # parameters times tokens, for about ten seconds of texts at all temperatures
_FEWEST_GENERATED = 20  # tokens


@dataclass(frozen=True)
class PretrainedModel(InspectableModel):
    """A real model that is open on this machine, with what its card says."""

    name: str
    title: str
    card: ModelCard

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

    def model(self, replica: int = 0, step: int | None = None) -> PretrainedModule:
        return opened.load_model(self.card)

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

    @property
    def parts(self) -> tuple[Part, ...]:
        return ("encoder", "decoder", "cross") if self.card.kind == "encoder-decoder" else ()

    def attention_part(
        self, part: Part, ids: Sequence[int], replica: int = 0, step: int | None = None
    ) -> tuple[AttentionModel, tuple[int, ...]]:
        module = self.model()
        if not self.parts:
            return module.part(), tuple(ids)
        target = (module.decoder_start, *module.translate(ids, _MOST_TRANSLATED)[:-1])
        return module.part(part or "cross", target), tuple(ids) if part == "encoder" else target

    @property
    def importance_text(self) -> Evaluated:
        return "this text" if self.card.kind == "decoder" and self.card.predicts else ""

    @property
    def importance_problem(self) -> str:
        return "This is measured for models that continue a text."

    def head_importance(self, replica: int, text: str) -> HeadImportance:
        from explorer.inspection.attention.head_scores import head_importance_on

        return head_importance_on(self.model().part(), self.tokenize(text, _MOST_IMPORTANCE_TOKENS).ids)

    # ---- the texts that it reads

    @property
    def tokenizer(self) -> PretrainedTokenizer:
        return _load_tokenizer(self.card.folder, self.card.fingerprint, self.card.vocabulary)

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

    def tokenize(self, text: str, most: int | None = None) -> TokenizedInput:
        """Return the tokens of a text, with those that the model expects around it, at most `most` tokens.

        A model that continues texts keeps the end of a text that is too long, others its beginning.
        """
        from explorer.inspection.attention.attend import TokenizedInput

        tokenizer, keeps_end = self.tokenizer, self.is_causal
        given = tokenizer.encode(text).tolist()
        empty = not given
        if empty and keeps_end:
            given = tokenizer.encode("\n").tolist()
        limits = [limit for limit in (most, self.card.context) if limit]
        room = max(1, min(limits, default=len(given)) - len(tokenizer.around(()))) if limits else len(given)
        kept, left_out = (given[-room:], given[:-room]) if keeps_end else (given[:room], given[room:])
        before = [*left_out, *kept] if not keeps_end else left_out
        ids = self._around(kept)
        start = len(tokenizer.before)
        names = [tokenizer.tokens[id] for id in ids]
        names[start : start + len(kept)] = self._token_texts(kept, before if keeps_end else ())
        unknown = tuple(tokenizer.find_unknown(text))
        return TokenizedInput(
            ids,
            tuple(names),
            tokenizer.decode(left_out),
            ("start" if keeps_end else "end") if left_out else "",
            (),
            unknown,
            False,
            empty,
        )

    def _around(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return ids with the tokens around them; a text that is continued has no end."""
        tokenizer = self.tokenizer
        return (*tokenizer.before, *ids) if self.is_causal else tokenizer.around(ids)

    def _token_texts(self, ids: Sequence[int], before: Sequence[int]) -> list[str]:
        """Return the text that each token adds; its name where it adds none."""
        from explorer.tokenization.text import pieces

        names = self.tokenizer.tokens
        return [piece or names[id] for piece, id in zip(pieces(self.tokenizer, ids, before), ids, strict=True)]

    def query_tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        special = self.tokenizer.special
        texts = self._token_texts(ids, ())
        return tuple(self.tokenizer.tokens[id] if id in special else text for id, text in zip(ids, texts, strict=True))

    def default_query(self, tokens: Sequence[str]) -> int:
        if self.card.kind != "encoder":
            return len(tokens) - 1
        masked = next((i for i, token in enumerate(tokens) if token.strip() in MASKS), None)
        return min(1, len(tokens) - 1) if masked is None else masked

    @property
    def predicts_in_place(self) -> bool:
        return self.card.kind == "encoder"

    def outcome_text(self, outcome: int, before: Sequence[int]) -> str:
        return following_text(self.tokenizer, outcome, before)

    # ---- the texts that it generates

    def check_generates_text(self) -> None:
        if self.card.kind != "decoder" or not self.card.predicts:
            raise InvalidSetting(
                f"{self.title} is an {self.card.kind}, it does not continue texts. Choose a language model above."
            )

    @property
    def most_generated(self) -> int:
        return max(_FEWEST_GENERATED, _GENERATED_NUMBERS // self.card.parameters)

    @property
    def prompt_start(self) -> tuple[int, ...]:
        return self.tokenizer.before

    def text_generator(self) -> TextGenerator:
        from explorer.generation.generate import TextGenerator

        return TextGenerator(self.model(), self.card.context or None)

    def count_truncated(self, tokens: int) -> int:
        from explorer.models.context_window import window_start

        return window_start(tokens, self.card.context) if self.card.context else 0


@lru_cache(maxsize=8)
def _load_tokenizer(folder: str, fingerprint: str, vocabulary: int) -> PretrainedTokenizer:
    from explorer.hub.tokenizer import load_tokenizer

    return load_tokenizer(Path(folder), vocabulary)


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
    return PretrainedModel(f"{opened.PREFIX}{card.name}", card.name, card)
