"""What a lesson can measure: each by its name, with what it needs to know. Needs no torch; see `measuring.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.catalogue import TASKS, task_row
from explorer.errors import InvalidSetting, LineageError, shortened
from explorer.tasks import digits, echo, recall
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.training import store
from explorer.training.config import RunConfig

Check = Callable[[Mapping[str, Any]], None]
HABITS = ("previous", "itself", "first", "same", "after_same", "spread")
TOUCHES = ("none", "uniform", "frozen", "cut", "shuffled")
POSITIONS = ("none", "sinusoidal", "learned", "rotary")
SEES = ("all", "past")  # of a row: an encoder, a decoder with its causal mask
_MOST_WORDS = 20  # as the page about positions reads


@dataclass(frozen=True)
class Setting:
    """Something that a measure needs to know."""

    kind: type[str] | type[int] | type[float]
    low: int | float = 0
    high: int | float = 0
    usual: object = None  # None: it must be given


@dataclass(frozen=True)
class Measure:
    """A measurement of a run, or of what needs none: a number for each seed, or a label."""

    name: str
    about: str
    tasks: tuple[str, ...]  # that its run may have learned
    needs: Mapping[str, Setting] = field(hash=False)
    labels: tuple[str, ...] = ()  # if it answers with one of these
    check: Check = field(default=lambda given: None, hash=False)
    over: str = "seeds"  # what its numbers differ by; nothing: it is one number, over all seeds or of any model

    def read(self, given: Mapping[str, str]) -> dict[str, Any]:
        """What was given for it, as texts of a file, with what is usual. Raises InvalidSetting."""
        for name in given:
            if name not in self.needs:
                raise InvalidSetting(f"“{self.name}” has no “{shortened(name)}”. It has {', '.join(self.needs)}.")
        found: dict[str, Any] = {name: self._value(name, given) for name in self.needs}
        if "run" in found:
            self._check_run(found["run"])
        self.check(found)
        return found

    def _value(self, name: str, given: Mapping[str, str]) -> object:
        setting = self.needs[name]
        if name not in given:
            if setting.usual is None:
                raise InvalidSetting(f"“{self.name}” needs {name}.")
            return setting.usual
        if setting.kind is str:
            return given[name]
        try:
            value = float(given[name]) if setting.kind is float else int(given[name])
        except ValueError:
            value = setting.high + 1
        if not setting.low <= value <= setting.high:
            raise InvalidSetting(
                f"{name} = {shortened(given[name])} is not possible. Give a number from {setting.low:g} to "
                f"{setting.high:g}."
            )
        return value

    def _check_run(self, name: str) -> None:
        try:
            run = store.find(name)
        except LineageError as error:
            raise InvalidSetting(f"There is no run “{shortened(name)}” that comes with the program.") from error
        task = task_row(run.config.task).name
        if not run.shipped:
            raise InvalidSetting(f"The run “{shortened(name)}” does not come with the program: name one that does.")
        if task not in self.tasks:
            raise InvalidSetting(
                f"“{self.name}” is for runs that learned {', '.join(self.tasks)}; “{name}” learned {task}."
            )


def _config(given: Mapping[str, Any]) -> RunConfig:
    return store.find(given["run"]).config


def _one_of(name: str, known: tuple[str, ...], given: Mapping[str, Any]) -> None:
    if given[name] not in known:
        raise InvalidSetting(f"There is no {name} “{shortened(given[name])}”. There is {', '.join(known)}.")


def _metric(given: Mapping[str, Any]) -> None:
    _one_of("metric", tuple(store.find(given["run"]).card.metrics), given)


def _fall(given: Mapping[str, Any]) -> None:
    _metric(given)
    _metric({**given, "run": given["other"]})


def asked_lengths(config: RunConfig) -> tuple[int, ...]:
    """The lengths at which a run was asked at its end."""
    if isinstance(config.task, recall.RecallConfig):
        return recall.asked_lengths(config.task.length)
    if isinstance(config.task, echo.EchoConfig):
        return echo.asked_lengths(config.task)
    return digits.asked_lengths(config.task)  # type: ignore[arg-type]  # the registry lets nothing else through


def _length(given: Mapping[str, Any]) -> None:
    known = asked_lengths(_config(given))
    if given["length"] not in known:
        raise InvalidSetting(
            f"Run “{given['run']}” was not asked at length {given['length']}. It was at {', '.join(map(str, known))}."
        )


def _sentences(given: Mapping[str, Any]) -> None:
    for name in ("sentence", "other"):
        if name in given:
            VOCABULARY.split(given[name])


def _words(given: Mapping[str, Any]) -> None:
    for name in ("sentence", "other"):
        count = len(given[name].split())
        if not 1 <= count <= _MOST_WORDS:
            raise InvalidSetting(f"“{shortened(given[name])}” has {count} words. Give 1 to {_MOST_WORDS}.")
    _one_of("positions", POSITIONS, given)
    _one_of("sees", SEES, given)


def _drawn(given: Mapping[str, Any]) -> None:
    from explorer.inspection.scaled import WIDTHS  # here: numpy is not needed on the way to the first page

    _one_of("divided", ("yes", "no"), given)
    if given["width"] not in WIDTHS:
        raise InvalidSetting(f"Nothing is drawn at width {given['width']}. It is at {', '.join(map(str, WIDTHS))}.")


def _step(given: Mapping[str, Any]) -> None:
    known = store.find(given["run"]).snapshot_steps()
    if given["step"] not in (-1, *known):
        raise InvalidSetting(
            f"Run “{given['run']}” has no weights of step {given['step']}. It has of {', '.join(map(str, known))}."
        )


def _attends(given: Mapping[str, Any]) -> None:
    if getattr(_config(given).model, "attention", "") == "none":
        raise InvalidSetting(f"Run “{given['run']}” has no attention. Name one that has.")


def _digits(given: Mapping[str, Any]) -> None:
    _attends(given)
    if not given["digits"].isdecimal():
        raise InvalidSetting(f"“{shortened(given['digits'])}” is not made of digits.")


def _touch(given: Mapping[str, Any]) -> None:
    _one_of("touch", TOUCHES, given)
    if given["touch"] in ("uniform", "frozen"):
        _attends(given)
    _length(given)


def _head(given: Mapping[str, Any]) -> None:
    model = _config(given).model
    layers, heads = getattr(model, "layers", 0), getattr(model, "heads", 0)
    if not heads:
        raise InvalidSetting(f"Run “{given['run']}” has no attention to look at. Name a Transformer's.")
    if not (given["layer"] < layers and given["head"] < heads):
        raise InvalidSetting(
            f"Run “{given['run']}” has no head {given['layer']}.{given['head']}: it has layers 0 to {layers - 1} and "
            f"heads 0 to {heads - 1}."
        )


def _habit(given: Mapping[str, Any]) -> None:
    _head(given)
    _one_of("habit", HABITS, given)
    _step(given)


_RUN = Setting(str)
_TEXT = Setting(str)
_STEP = Setting(int, -1, 1_000_000, usual=-1)  # of the training; -1: its end
_TEMPERATURE = Setting(float, 0.0, 2.0)
_PROMPT = {"run": _RUN, "prompt": _TEXT}
_HEAD = {"run": _RUN, "text": _TEXT, "layer": Setting(int, 0, 63), "head": Setting(int, 0, 63)}
_HABIT = {**_HEAD, "habit": _TEXT, "step": _STEP}
_NEGATION, _TEXTS, _DIGITS = ("negation",), ("text",), ("reverse", "copy")

MEASURES = {
    each.name: each
    for each in (
        Measure(
            "score",
            "A metric at the end of a run, from its card.",
            tuple(TASKS),
            {"run": _RUN, "metric": _TEXT},
            check=_metric,
        ),
        Measure(
            "fall",
            "By how much a metric of one run lies below that of another, seed by seed.",
            tuple(TASKS),
            {"run": _RUN, "other": _RUN, "metric": _TEXT},
            check=_fall,
        ),
        Measure(
            "at_length",
            "The share of right answers at another length, asked at the end of the run.",
            ("recall", "echo", *_DIGITS),
            {"run": _RUN, "length": Setting(int, 1, 1_000)},
            check=_length,
        ),
        Measure(
            "solved", "How many seeds of a run reach 0.95 on fresh sequences.", ("recall",), {"run": _RUN}, over=""
        ),
        Measure(
            "reached",
            "How many seeds of a run have at least so much of a metric at its end.",
            tuple(TASKS),
            {"run": _RUN, "metric": _TEXT, "least": Setting(float, 0.0, 1.0, usual=0.95)},
            check=_metric,
            over="",
        ),
        Measure(
            "says",
            "What a model answers to a sentence.",
            _NEGATION,
            {"run": _RUN, "sentence": _TEXT},
            labels=CLASSES,
            check=_sentences,
        ),
        Measure(
            "sustain",
            "P(sustain) of a sentence.",
            _NEGATION,
            {"run": _RUN, "sentence": _TEXT},
            check=_sentences,
        ),
        Measure(
            "apart",
            "How far P(sustain) of one sentence lies from that of another.",
            _NEGATION,
            {"run": _RUN, "sentence": _TEXT, "other": _TEXT},
            check=_sentences,
        ),
        Measure(
            "gradient",
            "The gradient at the first symbol, divided by that at the last, on fresh sequences.",
            ("recall",),
            {"run": _RUN, "step": _STEP},
            check=_step,
        ),
        Measure(
            "terms",
            "How many of the last steps make a share of the gradient of the recurrent matrix, on fresh sequences.",
            ("recall",),
            {"run": _RUN, "step": _STEP, "share": Setting(float, 0.01, 1.0, usual=0.99)},
            check=_step,
        ),
        Measure(
            "kept",
            "What share of its content a gated cell keeps at a step: the unit that keeps most.",
            ("recall",),
            {"run": _RUN},
        ),
        Measure(
            "left",
            "What share of a content is left where a gate keeps the same part of it at every step but the first.",
            (),
            {"gate": Setting(float, 0.0, 1.0), "steps": Setting(int, 2, 1_000, usual=50)},
            over="",
        ),
        Measure(
            "mirror",
            "How much of its attention a translator gives to the digit that it has to write next.",
            ("reverse",),
            {"run": _RUN, "digits": _TEXT},
            check=_digits,
        ),
        Measure(
            "touched",
            "The share of right answers at a length with the attention changed.",
            _DIGITS,
            {"run": _RUN, "touch": _TEXT, "length": Setting(int, 1, 1_000)},
            check=_touch,
        ),
        Measure(
            "strongest",
            "The largest weight that softmax gives one of 64 random keys for a random query: the median of all draws.",
            (),
            {"width": Setting(int, 1, 1_024), "divided": _TEXT},
            check=_drawn,
            over="",
        ),
        Measure(
            "order",
            "How far apart two sentences stand in untrained Transformers, as a share of their vectors' length.",
            (),
            {"sentence": _TEXT, "other": _TEXT, "positions": _TEXT, "sees": _TEXT},
            check=_words,
        ),
        Measure("habit", "What a head does with its attention over a text.", _TEXTS, _HABIT, check=_habit),
        Measure(
            "visible",
            "How many tokens a token may look at, counted from 1.",
            _TEXTS,
            {**_HEAD, "place": Setting(int, 1, 1_000)},
            check=_head,
            over="",
        ),
        Measure(
            "head_off",
            "By how many nats the loss rises without one head.",
            _TEXTS,
            {"run": _RUN, "layer": Setting(int, 0, 63), "head": Setting(int, 0, 63)},
            check=_head,
        ),
        Measure(
            "likeliest",
            "The probability of the likeliest next token.",
            _TEXTS,
            {**_PROMPT, "temperature": _TEMPERATURE},
        ),
        Measure(
            "grows",
            "How many times as likely the likeliest next token is at one temperature as at another.",
            _TEXTS,
            {**_PROMPT, "temperature": _TEMPERATURE, "other": _TEMPERATURE},
        ),
        Measure(
            "choices_left",
            "How many tokens top-p leaves to choose from.",
            _TEXTS,
            {**_PROMPT, "top_p": Setting(float, 0.0, 1.0), "temperature": Setting(float, 0.0, 2.0, usual=1.0)},
        ),
        Measure(
            "repeats",
            "The share of a written text's 8-grams that stood in it before, for eight throws of the dice.",
            _TEXTS,
            {**_PROMPT, "temperature": _TEMPERATURE, "tokens": Setting(int, 20, 400, usual=200)},
            over="throws of the dice",
        ),
        Measure(
            "in_common",
            "How many tokens two texts of the same dice share before they part.",
            _TEXTS,
            {
                **_PROMPT,
                "temperature": _TEMPERATURE,
                "other": _TEMPERATURE,
                "tokens": Setting(int, 20, 400, usual=200),
            },
            over="throws of the dice",
        ),
    )
}


def measure(name: str) -> Measure:
    """A measure by its name. Raises InvalidSetting."""
    if name not in MEASURES:
        raise InvalidSetting(f"There is no measure “{shortened(name)}”. There is {', '.join(MEASURES)}.")
    return MEASURES[name]
