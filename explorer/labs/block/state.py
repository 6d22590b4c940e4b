"""The state of the page on the block: the model, the text that it reads, and the selected tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from explorer.errors import InvalidSetting, shorten
from explorer.ui.state.fields import PageState, setting

Kind = Literal["encoder", "decoder", "both"]
MAX_CHARACTERS = 200  # characters of a text
MAX_TOKENS = 24  # the diagram has room for
KINDS = {"encoder": "Encoder", "decoder": "Decoder", "both": "Encoder–decoder"}
DEFAULT_RUNS = {"encoder": "negation-single-transformer", "decoder": "text-transformer", "both": "dates-transformer"}
TASKS_AND_MODELS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # by kind: tasks and models
    "encoder": (("negation",), ("transformer",)),
    "decoder": (("text",), ("transformer",)),
    "both": (("reverse", "copy", "dates"), ("transformer_encoder_decoder",)),
}


def _check_text(value: object) -> None:
    text = str(value)
    if len(text) > MAX_CHARACTERS:
        raise InvalidSetting(
            f"A text has at most {MAX_CHARACTERS} characters here; “{shorten(text)}” has {len(text):,}. Shorten it."
        )


@dataclass(frozen=True)
class BlockState(PageState):
    """The selected model, block, text, and tensor."""

    kind: Kind = setting("decoder", "Model type", options=KINDS)
    model: str = setting("", "Model", longest=64)  # a run; empty: the default of its kind
    seed: int = setting(0, "Seed", low=0, high=31)
    say: str = setting("", "Text", check=_check_text)  # empty: the first of the examples
    layer: int = setting(1, low=1, high=8, step=1)  # the selected block
    open: str = setting("", longest=64)  # a flow, as `inspection.transformer.block` names it
    token: int = setting(0, low=0, high=255)
    unit: int = setting(0, low=0, high=4095)  # index in the vector of the token
    head: int = setting(0, low=0, high=15)
    real: str = setting("", "Real model", longest=70)  # as hub:gpt2; empty: the first that is open

    @property
    def run(self) -> str:
        """Return the name of the selected run."""
        return self.model or DEFAULT_RUNS[self.kind]

    def with_kind(self, kind: Kind | None) -> BlockState:
        """Return the default state of another kind; None (a control that was deselected) changes nothing."""
        return self if kind in (None, self.kind) else BlockState(kind=kind, real=self.real)

    def with_model(self, name: str | None) -> BlockState:
        """Return the state with another model of this kind."""
        if name in (None, self.run):
            return self
        return BlockState(
            kind=self.kind, model="" if name == DEFAULT_RUNS[self.kind] else str(name), open=self.open, real=self.real
        )

    def with_text(self, text: str, example: str) -> BlockState:
        """Return the state with another text; the `example` text itself is not stored. Raises InvalidSetting."""
        _check_text(text)
        return replace(self, say="" if text == example else text, token=0)

    def apply_event(self, message: Any) -> BlockState:
        """Return the state after a message of the component; an invalid message changes nothing."""
        if not isinstance(message, dict) or not isinstance(message.get("open"), str) or len(message["open"]) > 64:
            return self
        numbers = {"token": 255, "unit": 4095, "head": 15}
        if any(type(message.get(name)) is not int or not 0 <= message[name] <= most for name, most in numbers.items()):
            return self
        return replace(self, open=message["open"], **{name: message[name] for name in numbers})
