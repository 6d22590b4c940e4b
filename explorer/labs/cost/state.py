"""The state of the page on cost: the sizes of the sweeps, and the model whose parameters are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from explorer.catalogue import MODELS, TASKS
from explorer.errors import InvalidSetting, shorten
from explorer.experiments import growth
from explorer.inspection.transformer.cost_formulas import LayerSize
from explorer.tasks.text.config import CORPUS_NAMES
from explorer.ui.state.fields import PageState, one_of, setting

WIDTHS, LENGTHS, HEADS = (16, 32, 64, 128, 256), (64, 128, 256, 512), (1, 2, 4, 8)
Sweep = Literal["length", "width", "layers"]
SWEEPS: Final[Mapping[Sweep, tuple[int, ...]]] = {
    "length": (32, 64, 128, 256, 512, 1_024, 2_048),
    "width": (16, 32, 64, 128, 256, 512),
    "layers": (1, 2, 4, 8),
}
_WAYS = {"both": "forward and backward", "forward": "forward only"}
MODEL_OF_PART = {"attention": "transformer", "fused": "transformer"}
ALL_MODELS: Final = "all"
_ARCHITECTURES = {ALL_MODELS: "All", **{model: MODELS[model].title for model in growth.SIZES}}
_SHARES = {share: f"1/{1 / share:.0f}" if share < 1 else "all of it" for share in growth.SHARES}
_SIZE_NAMES = dict(enumerate(("smallest", "second", "third", "largest")))


def _check_model(value: object) -> None:
    task, _, model = str(value).partition("-")
    if model not in MODELS or task not in MODELS[model].by_task or model == "ngram":
        raise InvalidSetting(f"There is no “{shorten(value)}” to count. Give a task and a model: text-transformer.")


@dataclass(frozen=True)
class CostState(PageState):
    """The sizes of the sweeps, which time is shown, the model and sizes for the parameter count, and what grows."""

    way: Literal["both", "forward"] = setting("both", "Time of", options=_WAYS)
    # Sizes that do not vary in a sweep.
    width: int = setting(64, "Width (fixed)", options=WIDTHS, check=one_of(WIDTHS))
    length: int = setting(128, "Length (fixed)", options=LENGTHS, check=one_of(LENGTHS))
    heads: int = setting(4, "Heads", options=HEADS, check=one_of(HEADS))
    who: str = setting("text-transformer", "Model and task", check=_check_model)
    d: int = setting(0, low=0, high=512, step=1)  # selected sizes; 0: default of the model
    m: int = setting(0, low=0, high=2_048, step=1)
    layers: int = setting(0, low=0, high=24, step=1)
    vocabulary: int = setting(0, "Vocabulary, V", low=0, high=50_000, step=1)
    # The section on growth.
    architecture: str = setting(ALL_MODELS, "Architecture", options=_ARCHITECTURES)
    corpus: Literal["tinyshakespeare", "repeats"] = setting(
        "tinyshakespeare", "Text", options={name: CORPUS_NAMES[name] for name in growth.CORPORA}
    )
    share: float = setting(1.0, "Share of the text (left)", options=_SHARES, check=one_of(growth.SHARES))
    size: int = setting(3, "Size (right)", options=_SIZE_NAMES, check=one_of(_SIZE_NAMES))
    real: str = setting("", "Real model", longest=70)  # as hub:gpt2; empty: the first that is open

    def sizes(self, sweep: Sweep, part: str) -> tuple[LayerSize, ...]:
        """Return every point of a sweep. Only attention has heads, so that other parts are measured once for all head
        counts.
        """
        default_size = LayerSize(self.length, self.width, 1, self.heads if part in MODEL_OF_PART else 1)
        changes: list[dict[str, Any]] = [{sweep: value} for value in SWEEPS[sweep]]
        return tuple(replace(default_size, **each) for each in changes)

    def with_model(self, model: str) -> CostState:
        """Return the state with another model at its default sizes."""
        return replace(self, who=model, d=0, m=0, layers=0, vocabulary=0)

    def with_size(self, name: str, value: int) -> CostState:
        """Return the state with one size set."""
        changes: dict[str, Any] = {name: value}
        return replace(self, **changes)

    @property
    def task_and_model(self) -> tuple[str, str]:
        task, _, model = self.who.partition("-")
        return task, model

    @property
    def title(self) -> str:
        task, model = self.task_and_model
        return f"{MODELS[model].title}, {TASKS[task].title}"
