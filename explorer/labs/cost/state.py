"""The state of the page on cost: the sizes of the sweeps, and the model whose parameters are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from explorer.catalogue import MODELS, TASKS
from explorer.errors import InvalidSetting, shorten
from explorer.inspection.transformer.cost_formulas import LayerSize

WIDTHS, LENGTHS, HEADS = (16, 32, 64, 128, 256), (64, 128, 256, 512), (1, 2, 4, 8)
Sweep = Literal["length", "width", "layers"]
SWEEPS: Final[Mapping[Sweep, tuple[int, ...]]] = {
    "length": (32, 64, 128, 256, 512, 1_024, 2_048),
    "width": (16, 32, 64, 128, 256, 512),
    "layers": (1, 2, 4, 8),
}
MODEL_OF_PART = {"attention": "transformer", "fused": "transformer"}


def _check_model(value: object) -> None:
    task, _, model = str(value).partition("-")
    if model not in MODELS or task not in MODELS[model].by_task or model == "ngram":
        raise InvalidSetting(f"There is no “{shorten(value)}” to count. Give a task and a model: text-transformer.")


def _check_one_of(*possible: int) -> object:
    def check(given: object) -> None:
        if given not in possible:
            raise InvalidSetting(f"{given} is not measured here. Give one of {', '.join(map(str, possible))}.")

    return check


@dataclass(frozen=True)
class CostState:
    """The sizes of the sweeps, which time is shown, and the model and sizes for the parameter count."""

    way: Literal["both", "forward"] = "both"
    width: int = field(default=64, metadata={"check": _check_one_of(*WIDTHS)})  # in the sweeps over length and layers
    length: int = field(default=128, metadata={"check": _check_one_of(*LENGTHS)})  # in the sweeps over width and layers
    heads: int = field(default=4, metadata={"check": _check_one_of(*HEADS)})
    who: str = field(default="text-transformer", metadata={"check": _check_model})
    d: int = field(default=0, metadata={"low": 0, "high": 512})  # selected sizes; 0: default of the model
    m: int = field(default=0, metadata={"low": 0, "high": 2_048})
    layers: int = field(default=0, metadata={"low": 0, "high": 24})
    vocabulary: int = field(default=0, metadata={"low": 0, "high": 50_000})

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
