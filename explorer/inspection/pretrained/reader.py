"""How a real model that is open on this machine reads and writes texts: its weights, its tokens, its translations.

The pages, the Python API and the command line build on it. Nothing of the transformers library is imported before the
weights are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.errors import InvalidSetting, shorten
from explorer.generation import generate
from explorer.hub import opened
from explorer.hub.allowed import NAME
from explorer.hub.card import ModelCard
from explorer.hub.checkpoints import checkpoint_steps, load_checkpoint, training_step
from explorer.hub.tokenizer import PretrainedTokenizer, load_tokenizer
from explorer.inspection.attention import attend
from explorer.models.context_window import window_start
from explorer.tokenization.text import pieces

if TYPE_CHECKING:
    from explorer.hub.pretrained import Part, PretrainedModule
    from explorer.inspection.attention.attention_model import AttentionModel

MASKS = ("[MASK]", "<mask>")  # tokens that an encoder was trained to predict
MAX_TRANSLATED = 64  # tokens


@dataclass(frozen=True)
class PretrainedReader:
    """A real model with what its card says."""

    card: ModelCard

    @property
    def steps(self) -> Sequence[int]:
        """The training steps of its published checkpoints on this machine, in order; the last one is that of the card.

        Empty if there are no others.
        """
        return checkpoint_steps(self.card)

    def module(self, step: int | None = None) -> PretrainedModule:
        """Return the model, or a checkpoint of its training; it is shared and must not be changed.

        Loading it takes time. Raises InvalidSetting.
        """
        if step is None or step == training_step(self.card):
            return opened.load_model(self.card)
        return load_checkpoint(self.card, step)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The kinds of attention of an encoder–decoder; empty for a model with one kind."""
        return ("encoder", "decoder", "cross") if self.card.kind == "encoder-decoder" else ()

    def attention_part(
        self, part: Part, ids: Sequence[int], *, step: int | None = None
    ) -> tuple[AttentionModel, tuple[int, ...]]:
        """Return one kind of attention, and the ids of its queries: an encoder–decoder first translates the text."""
        if not self.parts:
            return self.module(step).part(), tuple(ids)
        target = self.translate(ids, step)[:-1]
        return self.module(step).part(part or "cross", target), tuple(ids) if part == "encoder" else target

    def translate(self, ids: Sequence[int], step: int | None = None) -> tuple[int, ...]:
        """Return what an encoder–decoder writes (greedy): its start token, and at most MAX_TRANSLATED others."""
        return _translate(self, tuple(ids), step)

    # ---- the texts that it reads

    @property
    def tokenizer(self) -> PretrainedTokenizer:
        """Its tokenizer. Raises InvalidSetting if the folder has none."""
        return _load_tokenizer(self.card.folder, self.card.fingerprint, self.card.vocabulary)

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

    def token_texts(self, ids: Sequence[int], before: Sequence[int] = ()) -> list[str]:
        """Return the text that each token adds after the tokens `before`; its name if it is special or adds none."""
        tokenizer = self.tokenizer
        texts = zip(ids, pieces(tokenizer, ids, before), strict=True)
        return [tokenizer.tokens[id] if id in tokenizer.special or not text else text for id, text in texts]

    def default_query(self, tokens: Sequence[str]) -> int:
        """Return the position at which a prediction is of interest: the mask of an encoder, else the last token."""
        if self.card.kind != "encoder":
            return len(tokens) - 1
        masked = next((i for i, token in enumerate(tokens) if token in MASKS), None)
        return min(1, len(tokens) - 1) if masked is None else masked

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

    # ---- the texts that it generates

    def check_generates_text(self) -> None:
        """Raise InvalidSetting for a model that does not continue texts."""
        if self.card.kind != "decoder" or not self.card.predicts:
            what = f"an {self.card.kind}" if self.card.kind != "decoder" else "a decoder without output layer"
            raise InvalidSetting(
                f"{self.card.name} is {what}, it does not continue texts. Choose a language model such as gpt2."
            )

    @property
    def prompt_start(self) -> tuple[int, ...]:
        """The ids that come before every prompt."""
        return self.tokenizer.before

    def text_generator(self, step: int | None = None) -> generate.TextGenerator:
        """Return the model, ready to generate. Raises InvalidSetting."""
        self.check_generates_text()
        return generate.TextGenerator(self.module(step), self.card.context or None, start=self.prompt_start)

    def count_truncated(self, tokens: int) -> int:
        """Return how many tokens at the beginning of a prompt the model does not see when it generates."""
        return window_start(tokens, self.card.context) if self.card.context else 0


@lru_cache(maxsize=8)
def _load_tokenizer(folder: str, fingerprint: str, vocabulary: int) -> PretrainedTokenizer:
    return load_tokenizer(Path(folder), vocabulary)


@lru_cache(maxsize=64)
def _translate(model: PretrainedReader, ids: tuple[int, ...], step: int | None) -> tuple[int, ...]:
    module = model.module(step)
    most = min(MAX_TRANSLATED, model.card.context - 1) if model.card.context else MAX_TRANSLATED
    return module.decoder_start, *module.translate(ids, most)


def find_reader(given: str) -> PretrainedReader:
    """Return an opened model by its name, or the model in a folder, with or without the prefix of URLs.

    Raises InvalidSetting if it is not open here, or cannot be shown.
    """
    given = given.removeprefix(opened.PREFIX)
    is_name = not given or NAME.fullmatch(given)
    return PretrainedReader(opened.find_card(given) if is_name else opened.read_card(given))
