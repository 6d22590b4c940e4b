"""The state of the page on the block: the model, the text that it reads, and the selected tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from explorer.ui.state.fields import PageState, at_most, setting

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


@dataclass(frozen=True)
class BlockState(PageState):
    """The selected model, block, text, and tensor."""

    COMPONENT_FIELDS: ClassVar[tuple[str, ...]] = ("open", "token", "unit", "head")

    kind: Kind = setting("decoder", "Model type", options=KINDS)
    model: str = setting("", "Model", longest=64)  # a run; empty: the default of its kind
    seed: int = setting(0, "Seed", low=0, high=31)
    say: str = setting("", "Text", check=at_most(MAX_CHARACTERS))  # empty: the first of the examples
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
        at_most(MAX_CHARACTERS)(text)
        return replace(self, say="" if text == example else text, token=0)
