"""What a visitor of the page on the block has chosen: which model reads what, and what of it is opened."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.errors import InvalidSetting, shortened

Kind = Literal["encoder", "decoder", "both"]
LONGEST = 200  # characters of a text; how many tokens of it are read is up to the model
TOKENS = 24  # of a text that the diagram has room for
KINDS = {"encoder": "Encoder", "decoder": "Decoder", "both": "Encoder–decoder"}
USUAL = {"encoder": "negation-single-transformer", "decoder": "text-transformer", "both": "dates-transformer"}
OFFERED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # by kind: tasks and models
    "encoder": (("negation",), ("transformer",)),
    "decoder": (("text",), ("transformer",)),
    "both": (("reverse", "copy", "dates"), ("transformer_encoder_decoder",)),
}


def _text(given: object) -> None:
    text = str(given)
    if len(text) > LONGEST:
        raise InvalidSetting(
            f"A text has at most {LONGEST} characters here; “{shortened(text)}” has {len(text):,}. Shorten it."
        )


@dataclass(frozen=True)
class Block:
    """Where one stands in a Transformer, and what is opened there."""

    kind: Kind = "decoder"
    model: str = field(default="", metadata={"longest": 64})  # a run; empty: the usual one of its kind
    seed: int = field(default=0, metadata={"low": 0, "high": 31})
    say: str = field(default="", metadata={"check": _text})  # empty: the first of the examples
    layer: int = field(default=1, metadata={"low": 1, "high": 8})  # the block that is opened
    open: str = field(default="", metadata={"longest": 64})  # a flow, as `inspection.block.Flow` names it
    token: int = field(default=0, metadata={"low": 0, "high": 255})
    unit: int = field(default=0, metadata={"low": 0, "high": 4095})  # of the numbers of the token
    head: int = field(default=0, metadata={"low": 0, "high": 15})

    @property
    def run(self) -> str:
        """The run that is opened."""
        return self.model or USUAL[self.kind]

    def of_kind(self, kind: Kind | None) -> Block:
        """Another half, from its start; None, from a control that was let go, changes nothing."""
        return self if kind in (None, self.kind) else Block(kind=kind)

    def of_model(self, name: str | None) -> Block:
        """Another model of this kind."""
        if name in (None, self.run):
            return self
        return Block(kind=self.kind, model="" if name == USUAL[self.kind] else str(name), open=self.open)

    def saying(self, text: str, usual: str) -> Block:
        """Another text. Raises InvalidSetting."""
        _text(text)
        return replace(self, say="" if text == usual else text, token=0)

    def opened_as(self, said: Any) -> Block:
        """As the instrument tells it; what it cannot have said changes nothing."""
        if not isinstance(said, dict) or not isinstance(said.get("open"), str) or len(said["open"]) > 64:
            return self
        numbers = {"token": 255, "unit": 4095, "head": 15}
        if any(type(said.get(name)) is not int or not 0 <= said[name] <= most for name, most in numbers.items()):
            return self
        return replace(self, open=said["open"], **{name: said[name] for name in numbers})
