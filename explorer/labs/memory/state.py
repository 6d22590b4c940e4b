"""The state of the memory page: each field is a URL parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from explorer.catalogue import MODELS
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import DEFAULT_VARIANTS, SEEDS, VARIANTS, variant_of
from explorer.tasks.recall import RecallConfig
from explorer.tasks.string import StringConfig
from explorer.training.config import RunConfig
from explorer.ui.state.experiment_state import VariantComparison
from explorer.ui.state.fields import setting
from explorer.ui.state.run_lookup import find_config
from explorer.ui.wording import number_word

MAX_MODELS = 8  # lines that can be told apart
MAX_SEQUENCE_LENGTH = 200  # symbols
Sweep = Literal["starts", "rates"]
StringModel = Literal["rnn", "lstm", "gru"]  # of the string section
_SWEEPS = {"starts": "selected models", "rates": "RNN at several learning rates"}
_STRING_MODELS = {model: MODELS[model].title for model in get_args(StringModel)}


def _check_models(value: object) -> None:
    names = value if isinstance(value, tuple) else ()
    for name in names:
        if name not in VARIANTS:
            raise InvalidSetting(f"There is no “{shorten(name)}” on this page. There is {', '.join(VARIANTS)}.")
    if len(names) > MAX_MODELS:
        raise InvalidSetting(
            f"At most {number_word(MAX_MODELS)} models can be compared, and these are {len(names)}: remove one first."
        )
    if not names:
        raise InvalidSetting(f"No model is selected: name one to {MAX_MODELS}.")


def _check_sequence(value: object) -> None:
    text = str(value)
    if len(text) > MAX_SEQUENCE_LENGTH:
        raise InvalidSetting(
            f"A sequence has at most {MAX_SEQUENCE_LENGTH} symbols; this one has {len(text):,}. Shorten it."
        )


@dataclass(frozen=True)
class MemoryState(VariantComparison):
    """The variants that are compared, their task, and what of the results is shown."""

    TASKS: ClassVar[tuple[str, ...]] = ("recall", "string")
    RESET: ClassVar[tuple[str, ...]] = ("at", "inside", "replica")

    who: tuple[str, ...] = setting(DEFAULT_VARIANTS, check=_check_models)
    length: int = setting(50, "Sequence length (symbols)", low=1, high=1_000_000, step=10)
    symbols: int = setting(2, "Number of different symbols", low=2, high=26, step=1)
    rate: float = setting(0.0, "Learning rate", low=0.0, high=1.0)  # learning rate of all; 0: the default of each
    steps: int = setting(0, "Training steps (0 = default)", low=0, high=1_000_000, step=100)
    seeds: int = setting(SEEDS, "Seeds", low=1, high=32, step=1)
    sweep: Sweep = setting("starts", "Models", options=_SWEEPS)
    at: int = setting(-1, "Training step", low=-1, high=1_000_000)  # -1: the last
    inside: str = setting("", "Model")  # the variant whose gates are shown; empty: the first with gates
    replica: int = setting(0, "Seed", low=0, high=31)
    say: str = setting("", check=_check_sequence)  # the sequence; empty: a random one
    gain: float = setting(1.0, low=0.5, high=3.0)
    text: str = setting("abca abca abca ", "String", longest=200)  # of the character model
    text_model: StringModel = setting("rnn", "Model", options=_STRING_MODELS)
    text_seed: int = setting(0, "Seed", low=0, high=7, options=range(8))  # whose text is shown

    @property
    def choices(self) -> Mapping[str, ModelVariant]:
        return VARIANTS

    @property
    def task_fields(self) -> tuple[str, ...]:
        return ("length", "symbols")

    @property
    def task(self) -> RecallConfig:
        """The task of all variants."""
        return RecallConfig(self.length, self.symbols)

    def variant_of_run(self) -> ModelVariant:
        return variant_of(find_config(self.run)).requested_as(self.run)

    def with_models(self, names: Iterable[str]) -> MemoryState:
        state = super().with_models(names)
        return state if state is self or self.inside in state.who else replace(state, inside="")

    def with_run(self, visitor_id: str = "") -> MemoryState:
        config = self.requested_run(self.run, visitor_id)
        if isinstance(config.task, StringConfig):
            return replace(self, run="", text=config.task.text, text_model=config.model_name)  # type: ignore[arg-type]
        return super().with_run(visitor_id)

    def with_settings_of(self, config: RunConfig) -> MemoryState:
        same_task = self.task == replace(config.task_as(RecallConfig), sequences=0)
        return VariantComparison.with_settings_of(self if same_task else self.reset(), config)
