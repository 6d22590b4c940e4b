"""What a visitor of the page on heads, residuals and norms has set; each field is a part of the address."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.errors import InvalidSetting

LONGEST = 24  # characters of a text that are read: tiles of 8 heads are still large enough to point at
TYPED = 200  # characters of a text that is kept as it was typed
LAYERS = 24
CUTS = (1, 2, 4, 8)
UNTRAINED, BLOCKS = 8, 4  # seeds of fresh models; blocks of the shipped one
Norm = Literal["none", "post", "pre"]
Kind = Literal["layer", "rms"]
Start = Literal["usual", "kept", "zero"]


def _cut(given: object) -> None:
    if given not in CUTS:
        raise InvalidSetting(f"{given} heads are not possible: the width of 64 is cut into 1, 2, 4 or 8.")


def _typed(given: object) -> None:
    if len(str(given)) > TYPED:
        raise InvalidSetting(f"A text of {len(str(given)):,} characters is too long here. Give at most {TYPED}.")


@dataclass(frozen=True)
class Depth:
    """A layer that is cut into heads, and a stack of blocks."""

    say: str = field(default="the night and the day", metadata={"check": _typed})
    who: Literal["trained", "untrained"] = "trained"
    seed: int = field(default=0, metadata={"low": 0, "high": UNTRAINED - 1})
    block: int = field(default=2, metadata={"low": 1, "high": BLOCKS})  # whose attention is cut
    cut: int = field(default=4, metadata={"check": _cut})
    view: Literal["shares", "even"] = "shares"
    residual: bool = True
    norm: Norm = "pre"
    kind: Kind = "layer"
    layers: int = field(default=LAYERS, metadata={"low": 1, "high": LAYERS})
    start: Start = "usual"
    heads: int = field(default=4, metadata={"check": _cut})  # of the stack
    first: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})  # seed of the trainings

    @property
    def text(self) -> str:
        """What is read of what was typed."""
        return self.say[:LONGEST]

    @property
    def troubles(self) -> list[str]:
        """What of the text could not be used."""
        if len(self.say) <= LONGEST:
            return []
        return [
            f"The text has {len(self.say):,} characters; the tiles have room for {LONGEST}, so the model reads "
            f"“{self.text}”. Shorten it to show it another part."
        ]

    def cut_as(self, said: Any) -> Depth:
        """As the instrument of the heads tells it; what it cannot have said changes nothing."""
        if not isinstance(said, dict):
            return self
        cut, view = said.get("cut"), said.get("view")
        if type(cut) is not int or cut not in CUTS or view not in ("shares", "even"):
            return self
        return replace(self, cut=cut, view=view)

    def stacked_as(self, said: Any) -> Depth:
        """As the instrument of the stacks tells it; what it cannot have said changes nothing."""
        if not isinstance(said, dict):
            return self
        residual, norm, kind, layers = (said.get(name) for name in ("residual", "norm", "kind", "layers"))
        possible = type(residual) is bool and norm in ("none", "post", "pre") and kind in ("layer", "rms")
        if not possible or type(layers) is not int or not 1 <= layers <= LAYERS:
            return self
        return replace(self, residual=residual, norm=norm, kind=kind, layers=layers)  # type: ignore[arg-type]
