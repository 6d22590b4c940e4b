"""What a measure of lessons is: a function whose parameters are the settings that a lesson file gives as texts.

The type of a parameter says which texts are possible: `Literal` names them, and `Annotated[type, Setting(…)]` has
limits and checks. Needs no torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from explorer.catalogue import TASKS, task_row
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.hub.suitable import Need
from explorer.inspection.transformer.softmax_scaling import WIDTHS
from explorer.inspection.words import word_vectors
from explorer.run_store import store
from explorer.tasks import recall
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.own_sentences import Language
from explorer.tasks.seq2seq import digits
from explorer.tasks.sequence_labelling import delayed_copy, induction
from explorer.training.config import RunConfig

# Raises InvalidSetting unless the setting of this name is possible; it gets all settings, by name.
Check = Callable[[str, Mapping[str, Any]], None]
Limits: TypeAlias = "tuple[float | None, float | None, str]"  # the least and the largest possible value, and the unit
Values: TypeAlias = "list[float] | list[str]"
_Function = TypeVar("_Function", bound=Callable[..., Values])
FEWEST_SENTENCES, MOST_SENTENCES = 4, 8  # of a visitor, for a real encoder; the page reads as many
_MOST_WORDS = 20  # the limit of the page about positions


@dataclass(frozen=True)
class Setting:
    """The type and the range of one setting of a measure."""

    kind: type[str] | type[int] | type[float] = str
    low: int | float = 0
    high: int | float = 0
    default: object = None  # None if it must be given
    choices: tuple[str, ...] = ()  # the possible texts, if there are few
    tasks: tuple[str, ...] = ()  # of the included runs that it may name, if it is the name of a run
    check: Check = field(default=lambda name, given: None, hash=False)

    @property
    def type_name(self) -> str:
        return {str: "text", int: "whole number", float: "number"}[self.kind]

    def describe(self) -> str:
        """Return the type, the range and the default, such as “whole number from 1 to 64, default 4”."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        limits = "" if self.kind is str else f" from {self.low:,g} to {self.high:,g}"
        return f"{self.type_name}{limits}{'' if self.default is None else f', default {self.default}'}"

    def parse(self, name: str, text: str) -> object:
        """Return the value that a text stands for. Raises InvalidSetting."""
        if self.kind is str:
            if self.choices == ("yes", "no"):  # a URL writes a boolean in another way than a lesson
                text = {"true": "yes", "false": "no"}.get(text.lower(), text)
            if self.choices:
                _check_choice(name, self.choices, text)
            return text
        try:
            value = float(text) if self.kind is float else int(text)
        except ValueError:
            value = self.high + 1
        if not self.low <= value <= self.high:
            raise InvalidSetting(
                f"{name} = {shorten(text)} is not possible. Give a number from {self.low:g} to {self.high:g}."
            )
        return value


@dataclass(frozen=True)
class Measure:
    """A measure: gives a number or a label for each seed of a run, or one number that needs no run."""

    name: str
    about: str
    needs: Mapping[str, Setting] = field(hash=False)
    compute: Callable[..., Values] = field(hash=False)  # of the settings; raises LineageError
    labels: tuple[str, ...] = ()  # its possible values, if they are not numbers
    over: str = "seeds"  # what its values are repeated over; empty if there is a single value
    span: Limits | Callable[[Mapping[str, Any]], Limits] = field(default=(None, None, ""), hash=False)
    real_model: Need | None = None  # the kind of an opened real model that is measured, if it measures one

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the runs that it accepts."""
        return self.needs["run"].tasks if "run" in self.needs else ()

    def limits(self, given: Mapping[str, Any]) -> Limits:
        """Return the limits of its possible values with these settings."""
        return self.span(given) if callable(self.span) else self.span

    def parse_settings(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the settings with their types and defaults, from the texts of a lesson file. Raises InvalidSetting."""
        for name in given:
            if name not in self.needs:
                raise InvalidSetting(
                    f"“{self.name}” has no setting “{shorten(name)}”. Its settings are {', '.join(self.needs)}."
                )
        found: dict[str, Any] = {}
        for name, setting in self.needs.items():
            if name not in given and setting.default is None:
                raise InvalidSetting(f"“{self.name}” needs the setting {name}.")
            found[name] = setting.parse(name, given[name]) if name in given else setting.default
        for name, setting in self.needs.items():
            if setting.tasks:
                self._check_run(found[name], setting.tasks)
            setting.check(name, found)
        return found

    def _check_run(self, name: str, tasks: tuple[str, ...]) -> None:
        try:
            run = store.find(name)
        except LineageError as error:
            raise InvalidSetting(f"No included run has the name “{shorten(name)}”.") from error
        task = task_row(run.config.task).name
        if not run.shipped:
            raise InvalidSetting(f"The run “{shorten(name)}” is not included with the program. Name an included run.")
        if task not in tasks:
            raise InvalidSetting(
                f"“{self.name}” accepts runs of the tasks {', '.join(tasks)}; “{name}” is a run of {task}."
            )


MEASURES: dict[str, Measure] = {}


def lesson_measure(name: str, **details: Any) -> Callable[[_Function], _Function]:
    """Register a function as the measure of this name: its parameters are the settings, its docstring the description.

    `details` are the other fields of `Measure`.
    """

    def register(function: _Function) -> _Function:
        types = get_type_hints(function, include_extras=True)
        needs = {
            each.name: _setting_of(types[each.name], each.default)
            for each in inspect.signature(function).parameters.values()
        }
        MEASURES[name] = Measure(name, " ".join(str(function.__doc__).split()), needs, function, **details)
        return function

    return register


def _setting_of(kind: Any, default: object) -> Setting:
    """Return the setting of a parameter with this type and this default."""
    setting = Setting()
    if get_origin(kind) is Literal:
        kind, setting = str, Setting(choices=get_args(kind))
    elif get_origin(kind) is Annotated:
        kind, setting = get_args(kind)
    return replace(setting, kind=kind, default=None if default is inspect.Parameter.empty else default)


# ---- checks


def _config(given: Mapping[str, Any]) -> RunConfig:
    return store.find(given["run"]).config


def _check_choice(name: str, known: tuple[str, ...], text: str) -> None:
    if text not in known:
        raise InvalidSetting(f"{name} = “{shorten(text)}” is not possible. Give one of {', '.join(known)}.")


def _check_metric(name: str, given: Mapping[str, Any]) -> None:
    for run in ("run", "other"):
        if run in given:
            _check_choice(name, tuple(store.find(given[run]).card.metrics), given[name])


def evaluated_lengths(config: RunConfig) -> tuple[int, ...]:
    """Return the lengths at which a run was evaluated at its end."""
    if isinstance(config.task, recall.RecallConfig):
        return recall.evaluation_lengths(config.task.length)
    if isinstance(config.task, delayed_copy.DelayedCopyConfig):
        return delayed_copy.evaluation_lengths(config.task)
    return digits.evaluation_lengths(config.task)  # type: ignore[arg-type]  # measures accept no other task


def _check_length(name: str, given: Mapping[str, Any]) -> None:
    known = evaluated_lengths(_config(given))
    if given[name] not in known:
        raise InvalidSetting(
            f"Run “{given['run']}” was not evaluated at length {given[name]}. The lengths are "
            f"{', '.join(map(str, known))}."
        )


def _check_sentence(name: str, given: Mapping[str, Any]) -> None:
    VOCABULARY.split(given[name])


def _check_english(name: str, given: Mapping[str, Any]) -> None:
    Language.from_json(store.find(given["run"]).tokenizer).vocabulary.split(given[name])


def _check_words(name: str, given: Mapping[str, Any]) -> None:
    count = len(given[name].split())
    if not 1 <= count <= _MOST_WORDS:
        raise InvalidSetting(f"“{shorten(given[name])}” has {count} words. Give 1 to {_MOST_WORDS}.")


def _check_word(name: str, given: Mapping[str, Any]) -> None:
    word_vectors.load_table(store.find(given["run"])).ids([given[name]])


def _check_width(name: str, given: Mapping[str, Any]) -> None:
    if given[name] not in WIDTHS:
        raise InvalidSetting(f"{name} = {given[name]} is not possible. Give one of {', '.join(map(str, WIDTHS))}.")


def _check_step(name: str, given: Mapping[str, Any]) -> None:
    known = store.find(given["run"]).snapshot_steps()
    if given[name] not in (-1, *known):
        raise InvalidSetting(
            f"Run “{given['run']}” has no weights of step {given[name]}. The steps are {', '.join(map(str, known))}."
        )


def _check_attention(name: str, given: Mapping[str, Any]) -> None:
    if getattr(_config(given).model, "attention", "") == "none":
        raise InvalidSetting(f"Run “{given['run']}” has no attention. Name a run with attention.")


def _check_digits(name: str, given: Mapping[str, Any]) -> None:
    if not given[name].isdecimal():
        raise InvalidSetting(f"“{shorten(given[name])}” does not consist of digits.")


def _check_intervention(name: str, given: Mapping[str, Any]) -> None:
    if given[name] in ("uniform", "frozen"):
        _check_attention(name, given)


def _check_has_heads(name: str, given: Mapping[str, Any]) -> None:
    if not getattr(_config(given).model, "heads", 0):
        raise InvalidSetting(f"Run “{given['run']}” has no attention heads. Name a run of a Transformer.")


def _check_head(name: str, given: Mapping[str, Any]) -> None:
    if "run" not in given:
        return
    model = _config(given).model
    layers, heads = getattr(model, "layers", 0), getattr(model, "heads", 0)
    if not (given["layer"] < layers and given["head"] < heads):
        raise InvalidSetting(
            f"Run “{given['run']}” has no head {given['layer']}.{given['head']}: it has layers 0 to {layers - 1} and "
            f"heads 0 to {heads - 1}."
        )


def _check_two_layers(name: str, given: Mapping[str, Any]) -> None:
    if getattr(_config(given).model, "layers", 0) < 2:
        raise InvalidSetting(f"Run “{given['run']}” has one layer, and so no induction head. Name one with two layers.")


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a visitor, which a URL separates by slashes."""
    return tuple(each.strip() for each in text.split("/") if each.strip())


def _check_halves(name: str, given: Mapping[str, Any]) -> None:
    count = len(split_sentences(given[name]))
    if not FEWEST_SENTENCES <= count <= MOST_SENTENCES or count % 2:
        raise InvalidSetting(
            f"You have {count} sentences. Write {FEWEST_SENTENCES}, 6 or {MOST_SENTENCES}: the first half with one "
            "sense of the word, the second half with the other one."
        )


def _check_probabilities(name: str, given: Mapping[str, Any]) -> None:
    for text in given[name].split():
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1:
            raise InvalidSetting(f"“{shorten(text)}” is not a probability above 0 and up to 1.")


# ---- types of settings

Run = Annotated[str, Setting(tasks=tuple(TASKS))]
RecallRun = Annotated[str, Setting(tasks=("recall",))]
NegationRun = Annotated[str, Setting(tasks=("negation",))]
SentimentRun = Annotated[str, Setting(tasks=("sentiment",))]
VectorsRun = Annotated[str, Setting(tasks=("word_vectors",))]
DigitsRun = Annotated[str, Setting(tasks=("reverse", "copy"))]
LengthsRun = Annotated[str, Setting(tasks=("recall", "echo", "reverse", "copy"))]
AttentionRun = Annotated[str, Setting(tasks=("reverse",), check=_check_attention)]
TextRun = Annotated[str, Setting(tasks=("text",))]
HeadsRun = Annotated[str, Setting(tasks=("text",), check=_check_has_heads)]
InductionRun = Annotated[str, Setting(tasks=("induction",), check=_check_two_layers)]

Metric = Annotated[str, Setting(check=_check_metric)]  # of all runs that are named
EvaluatedLength = Annotated[int, Setting(low=1, high=1_000, check=_check_length)]
Step = Annotated[int, Setting(low=-1, high=1_000_000, check=_check_step)]  # of the training; -1 is the last
Sentence = Annotated[str, Setting(check=_check_sentence)]
EnglishSentence = Annotated[str, Setting(check=_check_english)]
FewWords = Annotated[str, Setting(check=_check_words)]
WordWithVector = Annotated[str, Setting(check=_check_word)]
Digits = Annotated[str, Setting(check=_check_digits)]
Probabilities = Annotated[str, Setting(check=_check_probabilities)]
Halves = Annotated[str, Setting(check=_check_halves)]
Width = Annotated[int, Setting(low=1, high=1_024, check=_check_width)]
Share = Annotated[float, Setting(low=0.0, high=1.0)]
Temperature = Annotated[float, Setting(low=0.0, high=2.0)]
Layer = Annotated[int, Setting(low=0, high=63)]
HeadOfLayer = Annotated[int, Setting(low=0, high=63, check=_check_head)]
Role = Annotated[str, Setting(choices=induction.ROLES)]
Position = Annotated[int, Setting(low=1, high=1_000)]
TokenCount = Annotated[int, Setting(low=20, high=400)]
VocabularySize = Annotated[int, Setting(low=2, high=2_000)]
Length = Annotated[int, Setting(low=1, high=100_000)]
LayerWidth = Annotated[int, Setting(low=1, high=10_000)]
YesOrNo = Literal["yes", "no"]
HeadScore = Literal["previous", "itself", "first", "same", "after_same", "spread"]
Intervention = Annotated[
    str, Setting(choices=("none", "uniform", "frozen", "cut", "shuffled"), check=_check_intervention)
]
Part = Literal["attention", "fused", "feedforward", "rnn", "gru", "lstm"]

# ---- limits of values

SHARE: Limits = (0.0, 1.0, "")
COSINE: Limits = (-1.0, 1.0, "")


def above_zero(unit: str = "") -> Limits:
    return 0.0, None, unit


def from_one(unit: str = "") -> Limits:
    return 1.0, None, unit


def count_of_seeds(given: Mapping[str, Any]) -> Limits:
    return 0.0, float(_config(given).replicas), "seeds"


def limits_of_metric(given: Mapping[str, Any]) -> Limits:
    if "perplexity" in given["metric"]:
        return from_one()
    if "loss" in given["metric"]:
        return above_zero("nats")
    return above_zero("bits") if "bits" in given["metric"] else SHARE
