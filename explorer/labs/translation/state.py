"""The state of the translation page: each field is a URL parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from explorer.catalogue import TASKS, task_row
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.translation import VARIANTS, variant_of
from explorer.model.example_texts import TASK_EXAMPLES
from explorer.tasks.seq2seq.config import TranslationConfig, read_source
from explorer.tasks.seq2seq.pairs import PairsConfig, PairTable, own_pairs_task, pair_table
from explorer.training.config import RunConfig, validate
from explorer.ui.state.experiment_state import VariantComparison
from explorer.ui.state.fields import check_fingerprint, missing_table_message, setting
from explorer.ui.state.run_lookup import find_config

Task = Literal["reverse", "copy", "dates", "pairs"]
Look = Literal["source", "encoder", "decoder"]
MAX_STEP = 63  # the last decoding step that can be selected
MAX_WIDTH = 8  # of the beam
_MAX_EXAMPLES = 6  # held-out sources to pick from
_TITLES = {name: each.title for name, each in VARIANTS.items()}


def _check_models(value: object) -> None:
    names = value if isinstance(value, tuple) else ()
    for name in names:
        if name not in VARIANTS:
            raise InvalidSetting(f"There is no “{shorten(name)}” on this page. There is {', '.join(VARIANTS)}.")
    if not names:
        raise InvalidSetting(f"Select at least one model: {', '.join(VARIANTS)}.")


@dataclass(frozen=True)
class TranslationState(VariantComparison):
    """The task, the variants that are compared, the source, and what of the results is shown."""

    TASKS: ClassVar[tuple[str, ...]] = ("reverse", "copy", "dates", "pairs")
    RESET: ClassVar[tuple[str, ...]] = ("longest", "replica", "look", "layer", "head", "at", "fed")

    seeds: int = setting(3, "Seeds", low=1, high=16, step=1)
    task: Task = setting(
        "reverse", "Task", options={"reverse": "Reverse", "copy": "Copy", "dates": "Dates", "pairs": "Your own pairs"}
    )
    text: str = setting("", check=check_fingerprint)  # SHA-256 of a visitor's pairs; empty: the example
    who: tuple[str, ...] = setting(tuple(VARIANTS), "Models", options=_TITLES, check=_check_models)
    longest: int = setting(20, "Longest source in training (digits)", low=1, high=40, step=1)
    rate: float = setting(0.0, "Learning rate (0 = default)", low=0.0, high=1.0, step=0.001)  # learning rate
    steps: int = setting(0, "Training steps (0 = default)", low=0, high=1_000_000, step=100)
    say: str = setting("", longest=200)  # the source; empty: the first of the examples
    inside: str = setting("", "Model")  # the variant that is inspected; empty: the first with attention, or the first
    replica: int = setting(0, "Seed", low=0, high=15)
    look: Look = setting("source")  # which of a Transformer's three kinds of attention
    layer: int = setting(-1, low=-1, high=7)  # -1: the layer of the best head
    head: int = setting(-1, low=-1, high=15)
    at: int = setting(-1, low=-1, high=MAX_STEP)  # the selected decoding step; -1: none
    width: int = setting(3, low=1, high=MAX_WIDTH)  # of the beam
    fed: int = setting(0, "Length of the sources", low=0, high=50)  # digits, in free running; 0: longest
    real: str = setting("", "Real model", longest=80)  # hub:NAME; empty: the first that is open
    read: str = setting("", "Text for the real model", longest=300)  # empty: the first of its examples
    depth: int = setting(0, "Layers", low=0, high=100, step=1)  # whose heads are averaged; 0: all

    @property
    def choices(self) -> Mapping[str, ModelVariant]:
        return VARIANTS

    @property
    def task_name(self) -> str:
        return self.task

    @property
    def task_fields(self) -> tuple[str, ...]:
        return ("longest",) if self.has_lengths else ()

    @property
    def has_lengths(self) -> bool:
        """Whether sources are digits of any length."""
        return self.task in ("reverse", "copy")

    @property
    def shared_settings(self) -> dict[str, object]:
        if not self.text:
            return super().shared_settings
        own = {f"task.{name}": value for name, value in vars(self.task_config).items()}
        return super().shared_settings | own

    @property
    def source(self) -> str:
        """The source: the typed one, or the first example."""
        return read_source(self.task_config, self.say).text or self.examples[0]

    @property
    def unread(self) -> str:
        """A sentence about what the models do not read of the typed source; empty if they read everything."""
        return read_source(self.task_config, self.say).describe_unread(self.examples[0]) if self.say else ""

    @cached_property
    def examples(self) -> tuple[str, ...]:
        """Sources to choose from; for pairs, held-out ones. Raises NeedsText for a file that is not in memory."""
        if self.task != "pairs":
            return TASK_EXAMPLES[self.task]
        return tuple(source for source, _ in self.table.held_out[:_MAX_EXAMPLES])

    @property
    def table(self) -> PairTable:
        """The pairs of the file or of the example. Raises NeedsText for a file that is not in memory."""
        config = self.task_config
        assert isinstance(config, PairsConfig)
        return pair_table(config)

    @cached_property
    def task_config(self) -> TranslationConfig:
        """The configuration of the task. Raises NeedsText for a file that is not in memory."""
        if self.text:
            return own_pairs_task(self.text)
        settings = {name: getattr(self, name) for name in self.task_fields}
        config: TranslationConfig = validate(TASKS[self.task].config, settings)
        return config

    def variant_of_run(self) -> ModelVariant:
        return variant_of(find_config(self.run)).requested_as(self.run)

    def with_task(self, task: Task, text: str = "") -> TranslationState:
        """Return the state for another task, with its default source and training.

        text: the SHA-256 of the visitor's pairs; empty without
        """
        text = text if task == "pairs" else ""
        other = replace(self, task=task, text=text, say="", at=-1, steps=0, rate=0.0, run="")
        return self if (task, text) == (self.task, self.text) else other.check_limits()

    def without_file(self) -> TranslationState:
        """Return the state with the example instead of a file, and without a run."""
        return replace(self, text="", say="", at=-1, run="")

    def open_run(self, visitor_id: str = "") -> tuple[TranslationState, tuple[str, ...]]:
        if self.text and self.task != "pairs":
            return replace(self, text="").open_run(visitor_id)
        try:
            _ = self.task_config
        except LineageError as error:
            state, problems = self.without_file().open_run(visitor_id)
            problem = missing_table_message(error, self.text)
            return state, (f"{problem} The example is shown instead.", *problems)
        return super().open_run(visitor_id)

    def with_models(self, names: Iterable[str]) -> TranslationState:
        state = super().with_models(names)
        return state if state is self or self.inside in state.who else replace(state, inside="")

    def with_source(self, text: str) -> TranslationState:
        """Return the state for another source, without a selected step."""
        return replace(self, say="" if text == self.examples[0] else text, at=-1)

    def with_settings_of(self, config: RunConfig) -> TranslationState:
        task, text = task_row(config.task).name, config.own_text
        return VariantComparison.with_settings_of(self.with_task(task, text), config)  # type: ignore[arg-type]  # see TASKS
