"""The state of pages that compare labelling models: the models, their training settings, and a requested run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from explorer.catalogue import MODELS, page_title, task_row
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.labelling import VARIANTS, LabellingVariant
from explorer.figures.comparison import Line
from explorer.inspection.compare import metric_over_seeds
from explorer.jobs import limits
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.state.run_lookup import find_config

COLOUR = MODELS["transformer"].colour  # they are all Transformers: a dash and a label tell them apart


@dataclass(frozen=True)
class ComparisonState:
    """The models of a page and how they are trained. A subclass adds the task's settings and the views of its page."""

    TASK: ClassVar[str] = ""  # a labelling task
    who: tuple[str, ...] = ()  # names of the model variants, without the task
    run: str = ""  # the key of a run requested by name
    seeds: int = field(default=3, metadata={"low": 1, "high": 16})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    steps: int = field(default=0, metadata={"low": 0, "high": 1_000_000})  # of all models; 0: the default of each

    @property
    def task(self) -> str:
        """The task that the models learn."""
        return self.TASK

    @property
    def task_settings(self) -> Mapping[str, object]:
        """The settings of the task that the page can change."""
        raise NotImplementedError

    @property
    def variants(self) -> dict[str, LabellingVariant]:
        """The model variants by name, including a requested run that is none of them."""
        variants = {name: VARIANTS[f"{self.task}-{name}"] for name in self.who}
        if self.run:
            about: dict[str, Any] = {"title": f"Run {self.run}", "words": f"run {self.run}"}
            first = next(iter(variants.values()))
            variants[self.run] = replace(first, name=self.run, label="this run", dash="1px,3px", **about)
        return variants

    @property
    def shared(self) -> dict[str, object]:
        """The settings that all models share."""
        steps = {"iterations": self.steps} if self.steps else {}
        return {"replicas": self.seeds, "seed": self.seed, **self.task_settings, **steps}

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The configuration of each model variant. Raises InvalidSetting."""
        configs = {name: VARIANTS[f"{self.task}-{name}"].config(**self.shared) for name in self.who}
        return configs | {self.run: find_config(self.run)} if self.run else configs

    def check_limits(self: AnyComparison) -> AnyComparison:
        """Return the state if its configurations are within the limits of this server. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_training_settings(self: AnyComparison, **settings: Any) -> AnyComparison:
        """Return the state with other training settings and without a requested run. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).check_limits()

    def with_models(self: AnyComparison, names: tuple[str, ...]) -> AnyComparison:
        """Return the state with these models in their default order, unchanged if empty. Raises InvalidSetting."""
        chosen = set(names)
        models = tuple(name for name in type(self)().who if name in chosen)
        return replace(self, who=models).check_limits() if models else self

    def with_run(self: AnyComparison, visitor_id: str = "") -> AnyComparison:
        """Return the state with the settings of the requested run, which is added if needed. Raises LineageError."""
        config, name = find_config(self.run, visitor_id), self.run
        run_task = task_row(config.task)
        if run_task.name != self.task:
            raise InvalidSetting(
                f"Run {shorten(name)} stands on another page: {page_title(run_task.page)}, /{run_task.page}?run={name}."
            )
        task = {setting: getattr(config.task, setting) for setting in self.task_settings}
        state = replace(self, **task, seeds=config.replicas, seed=config.seed, run="")
        default_steps = next(iter(state.configs.values())).steps
        state = replace(state, steps=0 if config.steps == default_steps else config.steps)
        variant = next((one for one in type(self)().who if _variant_config(state, one) == config), None)
        return state.with_models((*state.who, variant)) if variant else replace(state, run=name)

    def reset(self: AnyComparison) -> AnyComparison:
        """Return the state with the default models and training settings."""
        defaults = type(self)()
        names = ("who", "run", "seeds", "seed", "steps", *self.task_settings)
        return replace(self, **{name: getattr(defaults, name) for name in names})


AnyComparison = TypeVar("AnyComparison", bound=ComparisonState)


def _variant_config(state: ComparisonState, name: str) -> RunConfig:
    return VARIANTS[f"{state.task}-{name}"].config(**state.shared)


def metric_line(variant: LabellingVariant, curves: Curves | None, metric: str) -> Line:
    """Return the line of a metric during training, over the seeds."""
    return Line(variant.label, variant.words, COLOUR, variant.dash, *metric_over_seeds(curves, metric))


def last_answers(curves: Curves | None, name: str) -> np.ndarray | None:
    """Return the answers of the last evaluation, one row per seed; None without any."""
    if curves is None or name not in curves.answers or not len(curves.answers[name]):
        return None
    values: np.ndarray = curves.answers[name][-1]
    return None if np.isnan(values).all() else values
