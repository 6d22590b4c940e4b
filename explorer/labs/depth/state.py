"""The state of the page on heads, residuals and norms; each field is a URL parameter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from explorer.errors import InvalidSetting
from explorer.experiments.labelling import DEPTH_VARIANTS, VARIANTS
from explorer.training.config import RunConfig
from explorer.ui.state.experiment_state import ExperimentState
from explorer.ui.state.fields import setting

MAX_CHARACTERS_READ = 24  # of a text: tiles of 8 heads are still large enough to point at
MAX_CHARACTERS = 200  # of a typed text
LAYERS = 24
HEAD_COUNTS = (1, 2, 4, 8)
UNTRAINED_SEEDS, BLOCKS = 8, 4  # seeds of untrained models; blocks of the included run
Norm = Literal["none", "post", "pre"]
Kind = Literal["layer", "rms"]
Start = Literal["usual", "kept", "zero"]
_WEIGHTS = {"trained": "after training", "untrained": "before training"}
_INITIALIZATIONS = {
    "usual": "standard (±1/√fan-in)",
    "kept": "keeps the mean square",
    "zero": "last matrices zero",
}


def _check_head_count(value: object) -> None:
    if value not in HEAD_COUNTS:
        raise InvalidSetting(f"{value} heads are not possible: the width of 64 is cut into 1, 2, 4 or 8.")


def _check_text(value: object) -> None:
    if len(str(value)) > MAX_CHARACTERS:
        raise InvalidSetting(
            f"A text of {len(str(value)):,} characters is too long here. Give at most {MAX_CHARACTERS}."
        )


@dataclass(frozen=True)
class DepthState(ExperimentState):
    """An attention layer that is split into heads, and a stack of blocks."""

    MODELS_FIELD: ClassVar[str] = ""

    say: str = setting("the night and the day", "Text", check=_check_text)
    who: Literal["trained", "untrained"] = setting("trained", "Weights", options=_WEIGHTS)
    seed: int = setting(0, "Seed", low=0, high=UNTRAINED_SEEDS - 1)
    block: int = setting(2, "Block", low=1, high=BLOCKS, options=range(1, BLOCKS + 1))  # whose attention is split
    cut: int = setting(4, check=_check_head_count)
    view: Literal["shares", "even"] = setting("shares")
    residual: bool = setting(True)
    norm: Norm = setting("pre")
    kind: Kind = setting("layer")
    layers: int = setting(LAYERS, low=1, high=LAYERS)
    start: Start = setting("usual", "Initialization", options=_INITIALIZATIONS)
    heads: int = setting(4, "Heads in each block", options=HEAD_COUNTS, check=_check_head_count)  # of the stack
    # First seed of the training runs.
    first: int = setting(
        0,
        "First seed",
        low=0,
        high=2**31 - 1,
        step=3,
        help="Another seed draws other matrices and rows.",
    )
    real: str = setting("", "Real model", longest=80)  # hub:NAME; empty: the first that is open

    @property
    def selected_models(self) -> tuple[str, ...]:
        return DEPTH_VARIANTS

    def config(self, name: str) -> RunConfig:
        return VARIANTS[name].config(seed=self.first)

    def reset(self) -> Self:
        return replace(self, first=0)

    @property
    def text_read(self) -> str:
        """Return the part of the text that the model reads."""
        return self.say[:MAX_CHARACTERS_READ]

    @property
    def input_problems(self) -> list[str]:
        """Return a message if the text is too long."""
        if len(self.say) <= MAX_CHARACTERS_READ:
            return []
        return [
            f"The text has {len(self.say):,} characters; there is room for {MAX_CHARACTERS_READ}, so the model reads "
            f"“{self.text_read}”. Shorten it to show another part."
        ]

    def apply_heads_event(self, message: Any) -> DepthState:
        """Return the state after a message of the heads component; an invalid message changes nothing."""
        if not isinstance(message, dict):
            return self
        cut, view = message.get("cut"), message.get("view")
        if type(cut) is not int or cut not in HEAD_COUNTS or view not in ("shares", "even"):
            return self
        return replace(self, cut=cut, view=view)

    def apply_stacks_event(self, message: Any) -> DepthState:
        """Return the state after a message of the stacks component; an invalid message changes nothing."""
        if not isinstance(message, dict):
            return self
        residual, norm, kind, layers = (message.get(name) for name in ("residual", "norm", "kind", "layers"))
        possible = type(residual) is bool and norm in ("none", "post", "pre") and kind in ("layer", "rms")
        if not possible or type(layers) is not int or not 1 <= layers <= LAYERS:
            return self
        return replace(self, residual=residual, norm=norm, kind=kind, layers=layers)  # type: ignore[arg-type]
