"""A real model that is open on this machine, or in a folder: what its card says, its weights, its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from explorer.errors import InvalidSetting, shorten
from explorer.generation import generate
from explorer.hub import checkpoints, opened
from explorer.hub import tokenizer as tokenizers
from explorer.hub.allowed import NAME
from explorer.hub.card import ModelCard
from explorer.inspection.attention import attend, head_scores
from explorer.inspection.pretrained import translation
from explorer.model.example_texts import REAL_EXAMPLES
from explorer.model.model import Evaluated, Model, Part, TextAttention
from explorer.models.context_window import window_start
from explorer.models.structure import AttentionLayout
from explorer.number_format import format_number

if TYPE_CHECKING:
    from explorer.hub.pretrained import PretrainedModule

COLOUR = "--m-pretrained"
MASKS = ("[MASK]", "<mask>")  # tokens that an encoder was trained to predict
MAX_TRANSLATED = 64  # tokens
_ROTARY = ("gemma3_text", "gpt_neox", "llama", "mistral", "modernbert", "phi3", "qwen2", "qwen3")
_MOST_IMPORTANCE_TOKENS = 64  # of the text on which each head is switched off in turn, a minute for 270 heads
_GENERATED_NUMBERS = 8_500_000_000  # parameters times tokens, for about ten seconds of texts at all temperatures
_SNAPSHOT_NUMBERS = 1_500_000_000  # parameters of all checkpoints of a slider, loaded in about ten seconds
_FEWEST_GENERATED = 20  # tokens


class RealModel(Model):
    """A real pretrained model with what its card says."""

    unit, colour = "token", COLOUR
    pool: Literal["usual"] = "usual"  # a forward pass takes tenths of a second, and the first one loads the model

    def __init__(self, card: ModelCard) -> None:
        self.card, self.name, self.title = card, f"{opened.PREFIX}{card.name}", card.name
        self.cache_key = (self.name, card.revision, card.fingerprint)
        self.most_snapshots = max(3, _SNAPSHOT_NUMBERS // card.parameters)
        self.most_generated = max(_FEWEST_GENERATED, _GENERATED_NUMBERS // card.parameters)
        self.parts = ("encoder", "decoder", "cross") if card.kind == "encoder-decoder" else ()
        self.is_causal, self.predicts_in_place = card.kind == "decoder", card.kind == "encoder"
        self.has_rotary_positions = card.model_type in _ROTARY
        self.example_texts = REAL_EXAMPLES.get(card.model_type, REAL_EXAMPLES[card.kind])
        self.context_length = card.context
        facts = (
            f"{format_number(card.parameters / 1e6, 1 if card.parameters < 1e8 else 0)} million parameters",
            card.precision,
            f"licence {card.licence or 'not stated'}",
            f"revision {card.revision[:12]}" if card.revision else "from a local folder",
        )
        self.summary = f"{self.title}: a real {card.kind}, not trained here · {' · '.join(facts)}"

    # ---- its weights

    def module(self, replica: int = 0, step: int | None = None) -> PretrainedModule:
        if step is None or step == checkpoints.training_step(self.card):
            return opened.load_model(self.card)
        return checkpoints.load_checkpoint(self.card, step)

    @property
    def steps(self) -> Sequence[int]:
        """The steps of its published checkpoints that are on this machine; the last one is that of the card."""
        return checkpoints.checkpoint_steps(self.card)

    def check_step(self, step: int | None) -> int | None:
        """Return a step that the model has, by default its last one; None for a model without checkpoints.

        Raises InvalidSetting for another step.
        """
        steps = self.steps
        if step is None:
            return steps[-1] if steps else None
        if not isinstance(step, Integral) or isinstance(step, bool) or step not in steps:
            possible = f"Give one of {', '.join(map(str, steps))}." if steps else "Leave the step out."
            raise InvalidSetting(
                f"No weights of step {shorten(step)} of {self.card.name} are on this machine. {possible}"
            )
        return int(step)

    # ---- its attention

    @property
    def layout(self) -> AttentionLayout:
        card = self.card
        return AttentionLayout(card.layers, card.heads, card.kind == "decoder", positions=False, answers=card.predicts)

    def attention(
        self, text: attend.TokenizedInput, part: Part = "", replica: int = 0, step: int | None = None
    ) -> TextAttention:
        """Return one kind of attention to a text, which an encoder–decoder first translates. Raises LineageError."""
        if not self.parts:
            return super().attention(text, part, replica, step)
        target = self.translate(text.ids, step)[:-1]
        model = self.module(step=step).part(part or "cross", target)
        if part == "encoder":
            return TextAttention(model, text.ids, text.tokens, text.tokens)
        queries = tuple(self.token_texts(target))
        return TextAttention(model, target, queries, queries if part == "decoder" else text.tokens)

    def translate(self, ids: Sequence[int], step: int | None = None) -> tuple[int, ...]:
        """Return what an encoder–decoder writes (greedy): its start token, and at most MAX_TRANSLATED others."""
        return _translate(self.card, tuple(ids), step)

    def align_translation(self, text: str) -> translation.PretrainedTranslation:
        """Translate a text (greedy decoding) and return the attention of the decoder to the source.

        Raises InvalidSetting for an empty text, and for a model without an encoder and a decoder.
        """
        source = self.tokenize(text)
        if not text.strip():
            raise InvalidSetting("There is no text to translate. Type one.")
        written = self.translate(source.ids)
        cross = self.module().part("cross", written[:-1])
        tokens, special = written[1:], self.tokenizer.special
        return translation.PretrainedTranslation(
            source.tokens,
            tuple(self.token_texts(tokens)),
            self.tokenizer.decode([id for id in tokens if id not in special]).strip(),
            len(tokens) < MAX_TRANSLATED or tokens[-1] in special,
            source.truncated,
            translation.cross_attention(cross, source.ids),
        )

    @property
    def importance_text(self) -> Evaluated:
        return "this text" if self.card.kind == "decoder" and self.card.predicts else ""

    def head_importance(self, replica: int, text: str) -> head_scores.HeadImportance:
        return head_scores.head_importance_on(self.module().part(), self.tokenize(text, _MOST_IMPORTANCE_TOKENS).ids)

    # ---- the texts that it reads

    @property
    def tokenizer(self) -> tokenizers.PretrainedTokenizer:
        return _load_tokenizer(self.card.folder, self.card.fingerprint, self.card.vocabulary)

    @property
    def vocabulary_size(self) -> int:
        return self.card.vocabulary

    def tokenize(self, text: str, most: int | None = None) -> attend.TokenizedInput:
        """Return the tokens of a text, with those that the model expects around it, at most `most` tokens.

        A model that continues texts keeps the end of a text that is too long, others its beginning. Raises TextError.
        """
        tokenizer, continues = self.tokenizer, self.card.kind == "decoder"
        given = tokenizer.encode(text).tolist()
        empty = not given
        if empty and continues:
            given = tokenizer.encode("\n").tolist()
        limits = [limit for limit in (most, self.card.context) if limit]
        room = max(1, min(limits) - len(tokenizer.add_special_tokens(()))) if limits else len(given)
        kept, left_out = (given[-room:], given[:-room]) if continues else (given[:room], given[room:])
        ids = (*tokenizer.before, *kept) if continues else tokenizer.add_special_tokens(kept)
        start = len(tokenizer.before)
        names = [tokenizer.tokens[id] for id in ids]
        names[start : start + len(kept)] = self.token_texts(kept, left_out if continues else ())
        return attend.TokenizedInput(
            ids,
            tuple(names),
            tokenizer.decode(left_out),
            ("start" if continues else "end") if left_out else "",
            (),
            tuple(tokenizer.find_unknown(text)),
            text != text.lower() and not any(map(str.isupper, tokenizer.decode(given))),
            empty,
        )

    def default_query(self, tokens: Sequence[str]) -> int:
        """Return the position at which a prediction is of interest: the mask of an encoder, else the last token."""
        if self.card.kind != "encoder":
            return len(tokens) - 1
        masked = next((i for i, token in enumerate(tokens) if token in MASKS), None)
        return min(1, len(tokens) - 1) if masked is None else masked

    @property
    def outcomes(self) -> Sequence[str]:
        return self.tokenizer.tokens[: self.card.vocabulary]

    # ---- the texts that it generates

    def check_generates_text(self) -> None:
        if self.card.kind != "decoder" or not self.card.predicts:
            what = f"an {self.card.kind}" if self.card.kind != "decoder" else "a decoder without output layer"
            raise InvalidSetting(
                f"{self.card.name} is {what}, it does not continue texts. Choose a language model such as gpt2."
            )

    @property
    def prompt_start(self) -> tuple[int, ...]:
        return self.tokenizer.before

    def text_generator(self, replica: int = 0, step: int | None = None) -> generate.TextGenerator:
        self.check_generates_text()
        return generate.TextGenerator(self.module(step=step), self.card.context or None, start=self.prompt_start)

    def count_truncated(self, tokens: int) -> int:
        return window_start(tokens, self.card.context) if self.card.context else 0


@lru_cache(maxsize=8)
def _load_tokenizer(folder: str, fingerprint: str, vocabulary: int) -> tokenizers.PretrainedTokenizer:
    return tokenizers.load_tokenizer(Path(folder), vocabulary)


@lru_cache(maxsize=64)
def _translate(card: ModelCard, ids: tuple[int, ...], step: int | None) -> tuple[int, ...]:
    module = RealModel(card).module(step=step)
    most = min(MAX_TRANSLATED, card.context - 1) if card.context else MAX_TRANSLATED
    return module.decoder_start, *module.translate(ids, most)


def find_real_model(given: str) -> RealModel:
    """Return an opened model by its name, or the model in a folder, with or without the prefix of URLs.

    Raises InvalidSetting if it is not open here, or cannot be shown.
    """
    given = given.removeprefix(opened.PREFIX)
    is_name = not given or NAME.fullmatch(given)
    return RealModel(opened.find_card(given) if is_name else opened.read_card(given))
