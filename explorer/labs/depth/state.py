"""The state of the page on heads, residuals and norms; each field is a URL parameter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from explorer.experiments.labelling import DEPTH_VARIANTS, VARIANTS
from explorer.training.config import RunConfig
from explorer.ui.state.experiment_state import ExperimentState
from explorer.ui.state.fields import at_most, one_of, setting

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


@dataclass(frozen=True)
class DepthState(ExperimentState):
    """An attention layer that is split into heads, and a stack of blocks."""

    MODELS_FIELD: ClassVar[str] = ""
    COMPONENT_FIELDS: ClassVar[tuple[str, ...]] = ("cut", "view", "residual", "norm", "kind", "layers")

    say: str = setting("the night and the day", "Text", check=at_most(MAX_CHARACTERS))
    who: Literal["trained", "untrained"] = setting("trained", "Weights", options=_WEIGHTS)
    seed: int = setting(0, "Seed", low=0, high=UNTRAINED_SEEDS - 1)
    block: int = setting(2, "Block", low=1, high=BLOCKS, options=range(1, BLOCKS + 1))  # whose attention is split
    cut: int = setting(4, check=one_of(HEAD_COUNTS))
    view: Literal["shares", "even"] = setting("shares")
    residual: bool = setting(True)
    norm: Norm = setting("pre")
    kind: Kind = setting("layer")
    layers: int = setting(LAYERS, low=1, high=LAYERS)
    start: Start = setting("usual", "Initialization", options=_INITIALIZATIONS)
    heads: int = setting(4, "Heads in each block", options=HEAD_COUNTS, check=one_of(HEAD_COUNTS))  # of the stack
    # First seed of the training runs.
    first: int = setting(
        0,
        "First seed",
        low=0,
        high=2**31 - 1,
        step=3,
        help="Another seed draws other matrices and rows.",
    )
    seeds: int = setting(3, "Seeds", low=1, high=16, step=1)  # of the training runs
    steps: int = setting(0, "Steps (0: as usual)", low=0, high=1_000_000)
    real: str = setting("", "Real model", longest=80)  # hub:NAME; empty: the first that is open

    @property
    def selected_models(self) -> tuple[str, ...]:
        return DEPTH_VARIANTS

    def config(self, name: str) -> RunConfig:
        steps = {"iterations": self.steps} if self.steps else {}
        return VARIANTS[name].config(seed=self.first, replicas=self.seeds, **steps)

    def with_at_most(self, name: str, most: int) -> Self:
        field = {"replicas": "seeds", "iterations": "steps"}.get(name)
        if not field:
            return super().with_at_most(name, most)
        changes: dict[str, Any] = {field: min(most, getattr(self, field) or most)}
        return replace(self, **changes).check_limits()

    def reset(self) -> Self:
        return self.with_defaults("first", "seeds", "steps")

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
