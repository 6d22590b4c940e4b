"""The state of the attention explorer: each field is a URL parameter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from explorer.errors import InvalidSetting, shorten
from explorer.model.model import Part
from explorer.ui.state.fields import PageState, setting
from explorer.ui.training.model_input import MAX_TEXT_LENGTH, HeadSelection, check_heads, clamp_heads

PAIRS = {  # by an example text of a model
    "The film is not good": "The film is very good",
    "Not bad at all": "Not good at all",
    "Nobody liked the soup": "Everybody liked the soup",
    "I don't think the new teacher is rude": "I don't think the new teacher is kind",
    "The plot is weak but the acting is great": "The plot is great but the acting is weak",
    "The hotel could not be better": "The hotel could not be worse",
    "the king near the queens behind the aunts is proud of": "the queen near the queens behind the aunts is proud of",
    "the queen near the kings behind the uncles is proud of": "the king near the kings behind the uncles is proud of",
    "the kings near the queen are proud of": "the king near the queen is proud of",
    "the king near the queens": "the kings near the queens",
    "human not preserve nature": "human not destroy nature",
    "human preserve nature": "human destroy nature",
    "human not destroy nature": "human not preserve nature",
    "the night and the day": "the night and the way",
    "The capital of France is": "The capital of Germany is",
    "The capital of Italy is": "The capital of France is",
    "When Mary and John went to the store, John gave a drink to": (
        "When Mary and John went to the store, Mary gave a drink to"
    ),
    "When Mary and John went to the store, Mary gave a drink to": (
        "When Mary and John went to the store, John gave a drink to"
    ),
}
LETTER_PAIRS = {"O thou ha": "O they ha", "and thou ar": "and they ar"}  # “O thou hast”, “O they have”
COUNTERPARTS = PAIRS | LETTER_PAIRS


_INDEXED = ("stream", "head")  # kinds of a state with an index; what a part of a layer adds has none
_PATCHED = re.compile(r"(stream|head|attention|feedforward|layer)\.(\d{1,3})(?:\.(\d{1,4}))?")


@dataclass(frozen=True)
class PatchedState:
    """One state of a model. All numbers count from 0."""

    kind: str  # stream, head; attention, feedforward, or layer for both
    layer: int  # of the residual stream the depth: 0 is the embedding, 1 the state after the first layer
    index: int = 0  # position in the stream, or head

    @property
    def url(self) -> str:
        """The state as the URL names it: `head.0.2`."""
        return f"{self.kind}.{self.layer}" + f".{self.index}" * (self.kind in _INDEXED)


def parse_patched_state(name: str) -> PatchedState | None:
    """Return the state that a URL names, or None for another text."""
    match = _PATCHED.fullmatch(name)
    if match is None or (match[3] is None) == (match[1] in _INDEXED):
        return None
    return PatchedState(match[1], int(match[2]), int(match[3] or 0))


def check_patched_state(name: object) -> None:
    """Raise InvalidSetting if a URL parameter names no state; it may be empty."""
    if name and parse_patched_state(str(name)) is None:
        raise InvalidSetting(
            f"“{shorten(name)}” names no state of a model. Write head.LAYER.HEAD, stream.DEPTH.POSITION, "
            "attention.LAYER, feedforward.LAYER or layer.LAYER, counted from 0."
        )


MAX_TOKENS = 1_024  # the longest context there is
_ANSWER_HELP = (
    "What is measured is the difference between the logits of two answers. Each is one class of a classifier, "
    "otherwise exactly one token of the vocabulary (␣ is a space, ↵ a line end). An empty field stands for the most "
    "probable answer to the text."
)
DEFAULT_MODEL = "agreement-heads"
TRAINING_MODEL = "text-through-training"  # has the weights of many steps of its training


@dataclass(frozen=True)
class AttentionState(PageState):
    """A model, its input text, an ablation, and what of the attention is shown."""

    model: str = setting(DEFAULT_MODEL, "Model")
    run: str = setting("")  # a run that the URL of any page may name; becomes the model
    # The visitor's text; None: the first example for the model.
    say: str | None = setting(None, "Your text", longest=MAX_TEXT_LENGTH)
    seed: int = setting(0, "Seed", low=0, high=31)  # index of the replica
    step: int | None = setting(None, low=0, high=1e9)  # of the training; None: its end
    layer: int = setting(1, low=0, high=63)
    head: int = setting(0, low=0, high=63)
    at: int | None = setting(None, low=0, high=MAX_TOKENS - 1)  # query position; None: the last
    view: Literal["lines", "matrix"] = setting("lines")
    scale: Literal["one", "row"] = setting("one")
    sort: Literal["place", "previous", "itself", "first", "same", "after_same", "spread", "worth"] = setting("place")
    off: tuple[str, ...] = setting((), check=check_heads)  # zero-ablated heads
    flat: tuple[str, ...] = setting((), check=check_heads)  # heads with uniform attention
    unmasked: bool = setting(False)  # without the causal mask
    unplaced: bool = setting(False)  # without positions
    walk: int = setting(0, low=0, high=6)  # of older addresses; the page on scaled dot-product attention has the steps
    # Which attention of an encoder-decoder; empty: that of the decoder to the encoder. Other models have one.
    kind: Part = setting("")
    # The text from which no state is taken; None: the counterpart of the text, if it is an example.
    changed: str | None = setting(None, "Changed text", longest=MAX_TEXT_LENGTH)
    patch: str = setting("", check=check_patched_state)  # the state that is taken from `say`; empty: a head
    # The two answers whose logits are compared, each one token; empty: the most probable answers to both texts.
    answer: str = setting("", "Answer to the first text", help=_ANSWER_HELP)
    contrast: str = setting("", "Answer to the changed text", help=_ANSWER_HELP)

    beside: str = setting("", "Compare with")  # a second model on the same text; empty: none
    beside_layer: int = setting(0, low=0, high=63)
    beside_head: int = setting(0, low=0, high=63)
    beside_at: int | None = setting(None, low=0, high=MAX_TOKENS - 1)  # its query position; None: the last

    @classmethod
    def url_base(cls) -> AttentionState:
        """Return the default of all addresses from before the page opened with sentences about agreement."""
        return cls(model=HeadSelection.model, layer=HeadSelection.layer, head=HeadSelection.head)

    @property
    def is_ablated(self) -> bool:
        """Whether any part of the model is ablated."""
        return bool(self.off or self.flat or self.unmasked or self.unplaced)

    def computation_settings(self, *more: str, ablated: bool = True) -> AttentionState:
        """Return the state with only what a forward pass depends on, and the fields of these names, for a `Call`.

        ablated: whether the ablation is kept
        """
        kept = ("say", "seed", "step", "kind", *more, *(("off", "flat", "unmasked", "unplaced") if ablated else ()))
        return replace(AttentionState(), **{name: getattr(self, name) for name in kept})

    def shows_one_text(self, parts: Sequence[str]) -> bool:
        """Return whether queries and keys are of one text, in a model with these kinds of attention."""
        return not parts or self.kind in ("encoder", "decoder")

    def normalize(self, requested: str = "") -> AttentionState:
        """Return the state with the requested run as its model; `requested` is a run that another page has shown."""
        run = self.run or requested
        return replace(self.with_model(run), run="") if run else self

    def with_model(self, model: str, examples: Sequence[str] = ()) -> AttentionState:
        """Return the state for another model: heads, snapshots and seeds are reset, a typed text stays.

        `examples` are the texts that the old model offered; they are not typed. The answers stay too, if the new model
        has them (`chosen_answers.keep_possible_answers`).
        """
        if model == self.model:
            return self
        say = None if self.say in examples else self.say
        fresh = AttentionState() if model == DEFAULT_MODEL else self.url_base()
        changed = None if say is None else self.changed
        beside = "" if self.beside == model else self.beside
        return replace(
            fresh,
            model=model,
            say=say,
            changed=changed,
            answer=self.answer,
            contrast=self.contrast,
            view=self.view,
            scale=self.scale,
        ).with_second_model(beside)

    def with_second_model(self, model: str) -> AttentionState:
        """Return the state with another second model, or without one; its heads and its query are reset."""
        return replace(self, beside=model, beside_layer=0, beside_head=0, beside_at=None)

    def with_text(self, text: str) -> AttentionState:
        """Return the state for another text, with the default query.

        An example comes with its changed text and the most probable answers.
        """
        state = replace(self, say=text, at=None, beside_at=None, patch="")
        return replace(state, changed=None, answer="", contrast="") if text in COUNTERPARTS else state

    def with_texts(self, pair: tuple[str, str]) -> AttentionState:
        """Return the state for a pair of texts, with the default query and the most probable answers."""
        return replace(self.with_text(pair[0]), changed=pair[1], answer="", contrast="")

    def clamp(self, layers: int, heads: int, tokens: int) -> AttentionState:
        """Return the state within the heads of a model and the tokens of a text."""
        return replace(
            self,
            layer=min(self.layer, layers - 1),
            head=min(self.head, heads - 1),
            at=None if self.at is None or self.at >= tokens else self.at,
            off=clamp_heads(self.off, layers, heads),
            flat=clamp_heads(self.flat, layers, heads),
        )
