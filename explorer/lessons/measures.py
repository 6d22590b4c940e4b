"""The measures that lessons can use: name, settings and checks. Needs no torch; `measure.py` computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.catalogue import TASKS, task_row
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.run_store import store
from explorer.tasks import recall
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.tasks.seq2seq import digits
from explorer.tasks.sequence_labelling import delayed_copy, induction
from explorer.training.config import RunConfig

Check = Callable[[Mapping[str, Any]], None]
# Returns the least and the largest possible value of a measure with these settings (None: no limit), and the unit.
Span = Callable[[Mapping[str, Any]], "tuple[float | None, float | None, str]"]
HEAD_SCORES = ("previous", "itself", "first", "same", "after_same", "spread")
INTERVENTIONS = ("none", "uniform", "frozen", "cut", "shuffled")
POSITIONS = ("none", "sinusoidal", "learned", "rotary")
VISIBLE = ("all", "past")  # all positions (encoder), or past positions only (causal mask)
_MOST_WORDS = 20  # the limit of the page about positions


@dataclass(frozen=True)
class Setting:
    """The type and the range of one setting of a measure."""

    kind: type[str] | type[int] | type[float]
    low: int | float = 0
    high: int | float = 0
    default: object = None  # None if it must be given


@dataclass(frozen=True)
class Measure:
    """A measure: gives a number or a label for each seed of a run, or one number that needs no run."""

    name: str
    about: str
    tasks: tuple[str, ...]  # the tasks of the runs that it accepts
    needs: Mapping[str, Setting] = field(hash=False)
    labels: tuple[str, ...] = ()  # its possible values, if they are not numbers
    check: Check = field(default=lambda given: None, hash=False)
    over: str = "seeds"  # what its values are repeated over; empty if there is a single value
    span: Span = field(default=lambda given: (None, None, ""), hash=False)  # of its possible values

    def parse_settings(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the settings with their types and defaults, from the texts of a lesson file. Raises InvalidSetting."""
        for name in given:
            if name not in self.needs:
                raise InvalidSetting(
                    f"“{self.name}” has no setting “{shorten(name)}”. Its settings are {', '.join(self.needs)}."
                )
        found: dict[str, Any] = {name: self._value(name, given) for name in self.needs}
        if "run" in found:
            self._check_run(found["run"])
        self.check(found)
        return found

    def _value(self, name: str, given: Mapping[str, str]) -> object:
        setting = self.needs[name]
        if name not in given:
            if setting.default is None:
                raise InvalidSetting(f"“{self.name}” needs the setting {name}.")
            return setting.default
        if setting.kind is str:
            return given[name]
        try:
            value = float(given[name]) if setting.kind is float else int(given[name])
        except ValueError:
            value = setting.high + 1
        if not setting.low <= value <= setting.high:
            raise InvalidSetting(
                f"{name} = {shorten(given[name])} is not possible. Give a number from {setting.low:g} to "
                f"{setting.high:g}."
            )
        return value

    def _check_run(self, name: str) -> None:
        try:
            run = store.find(name)
        except LineageError as error:
            raise InvalidSetting(f"No included run has the name “{shorten(name)}”.") from error
        task = task_row(run.config.task).name
        if not run.shipped:
            raise InvalidSetting(f"The run “{shorten(name)}” is not included with the program. Name an included run.")
        if task not in self.tasks:
            raise InvalidSetting(
                f"“{self.name}” accepts runs of the tasks {', '.join(self.tasks)}; “{name}” is a run of {task}."
            )


def _config(given: Mapping[str, Any]) -> RunConfig:
    return store.find(given["run"]).config


def _check_choice(name: str, known: tuple[str, ...], given: Mapping[str, Any]) -> None:
    if given[name] not in known:
        raise InvalidSetting(f"{name} = “{shorten(given[name])}” is not possible. Give one of {', '.join(known)}.")


def _check_metric(given: Mapping[str, Any]) -> None:
    _check_choice("metric", tuple(store.find(given["run"]).card.metrics), given)


def _check_fall(given: Mapping[str, Any]) -> None:
    _check_metric(given)
    _check_metric({**given, "run": given["other"]})


def evaluated_lengths(config: RunConfig) -> tuple[int, ...]:
    """Return the lengths at which a run was evaluated at its end."""
    if isinstance(config.task, recall.RecallConfig):
        return recall.evaluation_lengths(config.task.length)
    if isinstance(config.task, delayed_copy.DelayedCopyConfig):
        return delayed_copy.evaluation_lengths(config.task)
    return digits.evaluation_lengths(config.task)  # type: ignore[arg-type]  # the registry lets nothing else through


def _check_length(given: Mapping[str, Any]) -> None:
    known = evaluated_lengths(_config(given))
    if given["length"] not in known:
        raise InvalidSetting(
            f"Run “{given['run']}” was not evaluated at length {given['length']}. The lengths are "
            f"{', '.join(map(str, known))}."
        )


def _check_sentences(given: Mapping[str, Any]) -> None:
    for name in ("sentence", "other"):
        if name in given:
            VOCABULARY.split(given[name])


def _check_words(given: Mapping[str, Any]) -> None:
    for name in ("sentence", "other"):
        count = len(given[name].split())
        if not 1 <= count <= _MOST_WORDS:
            raise InvalidSetting(f"“{shorten(given[name])}” has {count} words. Give 1 to {_MOST_WORDS}.")
    _check_choice("positions", POSITIONS, given)
    _check_choice("sees", VISIBLE, given)


def _check_vectors(given: Mapping[str, Any]) -> None:
    from explorer.inspection.words.word_vectors import load_table  # here: the first page needs no numpy

    load_table(store.find(given["run"])).ids([given["word"], given["other"]])


def _check_width(given: Mapping[str, Any]) -> None:
    from explorer.inspection.transformer.softmax_scaling import (
        WIDTHS,  # here: numpy is not needed on the way to the first page
    )

    _check_choice("divided", ("yes", "no"), given)
    if given["width"] not in WIDTHS:
        raise InvalidSetting(f"width = {given['width']} is not possible. Give one of {', '.join(map(str, WIDTHS))}.")


def _check_step(given: Mapping[str, Any]) -> None:
    known = store.find(given["run"]).snapshot_steps()
    if given["step"] not in (-1, *known):
        raise InvalidSetting(
            f"Run “{given['run']}” has no weights of step {given['step']}. The steps are {', '.join(map(str, known))}."
        )


def _check_attention(given: Mapping[str, Any]) -> None:
    if getattr(_config(given).model, "attention", "") == "none":
        raise InvalidSetting(f"Run “{given['run']}” has no attention. Name a run with attention.")


def _check_digits(given: Mapping[str, Any]) -> None:
    _check_attention(given)
    if not given["digits"].isdecimal():
        raise InvalidSetting(f"“{shorten(given['digits'])}” does not consist of digits.")


def _check_intervention(given: Mapping[str, Any]) -> None:
    _check_choice("touch", INTERVENTIONS, given)
    if given["touch"] in ("uniform", "frozen"):
        _check_attention(given)
    _check_length(given)


def _check_head(given: Mapping[str, Any]) -> None:
    model = _config(given).model
    layers, heads = getattr(model, "layers", 0), getattr(model, "heads", 0)
    if not heads:
        raise InvalidSetting(f"Run “{given['run']}” has no attention heads. Name a run of a Transformer.")
    if not (given["layer"] < layers and given["head"] < heads):
        raise InvalidSetting(
            f"Run “{given['run']}” has no head {given['layer']}.{given['head']}: it has layers 0 to {layers - 1} and "
            f"heads 0 to {heads - 1}."
        )


def _check_heads(given: Mapping[str, Any]) -> None:
    _check_head({**given, **_ALL_HEADS})


def _check_head_scores(given: Mapping[str, Any]) -> None:
    _check_head_score({**given, **_ALL_HEADS})


def _check_role(given: Mapping[str, Any]) -> None:
    _check_choice("role", induction.ROLES, given)
    if getattr(_config(given).model, "layers", 0) < 2:
        raise InvalidSetting(f"Run “{given['run']}” has one layer, and so no induction head. Name one with two layers.")


def _check_head_score(given: Mapping[str, Any]) -> None:
    _check_head(given)
    _check_choice("habit", HEAD_SCORES, given)
    _check_step(given)


def _check_probabilities(given: Mapping[str, Any]) -> None:
    for text in given["probabilities"].split():
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1:
            raise InvalidSetting(f"“{shorten(text)}” is not a probability above 0 and up to 1.")


def _check_stack(given: Mapping[str, Any]) -> None:
    _check_choice("residual", ("yes", "no"), {"residual": _yes_or_no(given["residual"])})
    _check_choice("norm", ("none", "post", "pre"), given)


def _yes_or_no(text: str) -> str:
    """Return a boolean of a URL as a lesson writes it."""
    return {"true": "yes", "True": "yes", "false": "no", "False": "no"}.get(text, text)


def _check_part(given: Mapping[str, Any]) -> None:
    from explorer.inspection.transformer.cost_formulas import PARTS  # here: the first page needs no numpy

    for name in ("part", "other"):
        if name in given:
            _check_choice(name, PARTS, given)


def _share(given: Mapping[str, Any]) -> tuple[float, float, str]:
    return 0.0, 1.0, ""


def _above_zero(unit: str) -> Span:
    return lambda given: (0.0, None, unit)


def _seeds(given: Mapping[str, Any]) -> tuple[float, float, str]:
    return 0.0, float(_config(given).replicas), "seeds"


def _metric_span(given: Mapping[str, Any]) -> tuple[float | None, float | None, str]:
    if "perplexity" in given["metric"]:
        return 1.0, None, ""
    if "loss" in given["metric"]:
        return 0.0, None, "nats"
    return (0.0, None, "bits") if "bits" in given["metric"] else (0.0, 1.0, "")


_RUN = Setting(str)
_TEXT = Setting(str)
_STEP = Setting(int, -1, 1_000_000, default=-1)  # of the training; -1 is the last
_TEMPERATURE = Setting(float, 0.0, 2.0)
_PROMPT = {"run": _RUN, "prompt": _TEXT}
_HEAD = {"run": _RUN, "text": _TEXT, "layer": Setting(int, 0, 63), "head": Setting(int, 0, 63)}
_HABIT = {**_HEAD, "habit": _TEXT, "step": _STEP}
_ALL_HEADS = {"layer": 0, "head": 0}  # a head that every model with heads has, to check settings without one
_NEGATION_TASKS, _TEXT_TASKS, _DIGIT_TASKS = ("negation",), ("text",), ("reverse", "copy")

MEASURES = {
    each.name: each
    for each in (
        Measure(
            "score",
            "A metric at the end of a run, from its card.",
            tuple(TASKS),
            {"run": _RUN, "metric": _TEXT},
            check=_check_metric,
            span=_metric_span,
        ),
        Measure(
            "fall",
            "By how much a metric of one run lies below that of another, seed by seed.",
            tuple(TASKS),
            {"run": _RUN, "other": _RUN, "metric": _TEXT},
            check=_check_fall,
        ),
        Measure(
            "at_length",
            "The share of right answers at another length, asked at the end of the run.",
            ("recall", "echo", *_DIGIT_TASKS),
            {"run": _RUN, "length": Setting(int, 1, 1_000)},
            check=_check_length,
            span=_share,
        ),
        Measure(
            "solved",
            "How many seeds of a run reach 0.95 on fresh sequences.",
            ("recall",),
            {"run": _RUN},
            over="",
            span=_seeds,
        ),
        Measure(
            "reached",
            "How many seeds of a run have at least so much of a metric at its end.",
            tuple(TASKS),
            {"run": _RUN, "metric": _TEXT, "least": Setting(float, 0.0, 1.0, default=0.95)},
            check=_check_metric,
            over="",
            span=_seeds,
        ),
        Measure(
            "says",
            "What a model answers to a sentence.",
            _NEGATION_TASKS,
            {"run": _RUN, "sentence": _TEXT},
            labels=CLASSES,
            check=_check_sentences,
        ),
        Measure(
            "sustain",
            "P(sustain) of a sentence.",
            _NEGATION_TASKS,
            {"run": _RUN, "sentence": _TEXT},
            check=_check_sentences,
            span=_share,
        ),
        Measure(
            "apart",
            "How far P(sustain) of one sentence lies from that of another.",
            _NEGATION_TASKS,
            {"run": _RUN, "sentence": _TEXT, "other": _TEXT},
            check=_check_sentences,
            span=_share,
        ),
        Measure(
            "gradient",
            "The gradient at the first symbol, divided by that at the last, on fresh sequences.",
            ("recall",),
            {"run": _RUN, "step": _STEP},
            check=_check_step,
            span=_above_zero(""),
        ),
        Measure(
            "terms",
            "How many of the last steps make a share of the gradient of the recurrent matrix, on fresh sequences.",
            ("recall",),
            {"run": _RUN, "step": _STEP, "share": Setting(float, 0.01, 1.0, default=0.99)},
            check=_check_step,
            span=_above_zero("steps"),
        ),
        Measure(
            "kept",
            "What share of its content a gated cell keeps at a step: the unit that keeps most.",
            ("recall",),
            {"run": _RUN},
            span=_share,
        ),
        Measure(
            "left",
            "What share of a content is left where a gate keeps the same part of it at every step but the first.",
            (),
            {"gate": Setting(float, 0.0, 1.0), "steps": Setting(int, 2, 1_000, default=50)},
            over="",
            span=_share,
        ),
        Measure(
            "mirror",
            "How much of its attention a translator gives to the digit that it has to write next.",
            ("reverse",),
            {"run": _RUN, "digits": _TEXT},
            check=_check_digits,
            span=_share,
        ),
        Measure(
            "touched",
            "The share of right answers at a length with the attention changed.",
            _DIGIT_TASKS,
            {"run": _RUN, "touch": _TEXT, "length": Setting(int, 1, 1_000)},
            check=_check_intervention,
            span=_share,
        ),
        Measure(
            "strongest",
            "The largest weight that softmax gives one of 64 random keys for a random query: the median of all draws.",
            (),
            {"width": Setting(int, 1, 1_024), "divided": _TEXT},
            check=_check_width,
            over="",
            span=_share,
        ),
        Measure(
            "order",
            "How far apart two sentences stand in untrained Transformers, as a share of their vectors' length.",
            (),
            {"sentence": _TEXT, "other": _TEXT, "positions": _TEXT, "sees": _TEXT},
            check=_check_words,
            span=_above_zero(""),
        ),
        Measure(
            "similarity",
            "The cosine of the vectors of two words.",
            ("word_vectors",),
            {"run": _RUN, "word": _TEXT, "other": _TEXT},
            check=_check_vectors,
            span=lambda given: (-1.0, 1.0, ""),
        ),
        Measure(
            "habit",
            "What a head does with its attention over a text.",
            _TEXT_TASKS,
            _HABIT,
            check=_check_head_score,
            span=_share,
        ),
        Measure(
            "largest_head_score",
            "What the head that does it most does with its attention over a text.",
            _TEXT_TASKS,
            {"run": _RUN, "text": _TEXT, "habit": _TEXT, "step": _STEP},
            check=_check_head_scores,
            span=_share,
        ),
        Measure(
            "visible",
            "How many tokens a token may look at, counted from 1.",
            _TEXT_TASKS,
            {**_HEAD, "place": Setting(int, 1, 1_000)},
            check=_check_head,
            over="",
        ),
        Measure(
            "head_off",
            "By how many nats the loss rises without one head.",
            _TEXT_TASKS,
            {"run": _RUN, "layer": Setting(int, 0, 63), "head": Setting(int, 0, 63)},
            check=_check_head,
            span=_above_zero("nats"),
        ),
        Measure(
            "largest_head_importance",
            "By how many nats the loss rises without the head that matters most.",
            _TEXT_TASKS,
            {"run": _RUN},
            check=_check_heads,
            span=_above_zero("nats"),
        ),
        Measure(
            "loss_without",
            "The loss on the second copy of random symbols without one head of each seed, found by its scores.",
            ("induction",),
            {"run": _RUN, "role": _TEXT},
            check=_check_role,
            span=_above_zero("nats"),
        ),
        Measure(
            "likeliest",
            "The probability of the likeliest next token.",
            _TEXT_TASKS,
            {**_PROMPT, "temperature": _TEMPERATURE},
            span=_share,
        ),
        Measure(
            "grows",
            "How many times as likely the likeliest next token is at one temperature as at another.",
            _TEXT_TASKS,
            {**_PROMPT, "temperature": _TEMPERATURE, "other": _TEMPERATURE},
            span=_above_zero("times"),
        ),
        Measure(
            "choices_left",
            "How many tokens top-p leaves to choose from.",
            _TEXT_TASKS,
            {**_PROMPT, "top_p": Setting(float, 0.0, 1.0), "temperature": Setting(float, 0.0, 2.0, default=1.0)},
            span=_above_zero("letters"),
        ),
        Measure(
            "repeats",
            "The share of a generated text's 8-grams that occurred before, for eight texts (one at temperature 0).",
            _TEXT_TASKS,
            {**_PROMPT, "temperature": _TEMPERATURE, "tokens": Setting(int, 20, 400, default=200)},
            over="generated texts",
            span=_share,
        ),
        Measure(
            "in_common",
            "How many tokens two texts with the same random numbers share before they differ.",
            _TEXT_TASKS,
            {
                **_PROMPT,
                "temperature": _TEMPERATURE,
                "other": _TEMPERATURE,
                "tokens": Setting(int, 20, 400, default=200),
                "throws": Setting(int, 1, 64, default=8),
            },
            over="pairs of texts",
            span=_above_zero("letters"),
        ),
        Measure(
            "pieces",
            "How many tokens byte-pair encoding makes of a text, with a vocabulary learned on Tiny Shakespeare.",
            (),
            {"text": _TEXT, "vocabulary": Setting(int, 2, 2_000)},
            over="",
            span=_above_zero("tokens"),
        ),
        Measure(
            "unknown",
            "How many tokens of a text byte-pair encoding, learned on Tiny Shakespeare, does not know.",
            (),
            {"text": _TEXT, "vocabulary": Setting(int, 2, 2_000)},
            over="",
            span=_above_zero("tokens"),
        ),
        Measure(
            "setting",
            "A number that is set on the page; for tasks.",
            (),
            {"value": Setting(float, -1e9, 1e9)},
            over="",
        ),
        Measure(
            "perplexity_of",
            "The perplexity of a model that gave the tokens that came these probabilities, separated by spaces.",
            (),
            {"probabilities": _TEXT},
            check=_check_probabilities,
            over="",
            span=lambda given: (1.0, None, ""),
        ),
        Measure(
            "per_letter",
            "The perplexity for each letter of a model of any tokens: 2 to the power of its bits per character.",
            _TEXT_TASKS,
            {"run": _RUN},
            span=lambda given: (1.0, None, "letters"),
        ),
        Measure(
            "perplexity_per_unit",
            "The perplexity for each byte or character, of a perplexity for each token that has several of them.",
            (),
            {"perplexity": Setting(float, 1, 1e9), "units": Setting(float, 0.01, 1e3)},
            over="",
            span=lambda given: (1.0, None, ""),
        ),
        Measure(
            "stream_gradient",
            "The gradient at the input of an untrained stack of blocks, divided by that at its output.",
            (),
            {"residual": _TEXT, "norm": _TEXT, "layers": Setting(int, 1, 24)},
            check=_check_stack,
            span=_above_zero(""),
        ),
        Measure(
            "cost_growth",
            "By what factor the multiplications of a part grow from a length to twice that length.",
            (),
            {"part": _TEXT, "length": Setting(int, 1, 100_000), "width": Setting(int, 1, 10_000)},
            check=_check_part,
            over="",
            span=_above_zero("times"),
        ),
        Measure(
            "cost_ratio",
            "The multiplications of one part divided by those of another one.",
            (),
            {
                "part": _TEXT,
                "other": _TEXT,
                "length": Setting(int, 1, 100_000),
                "width": Setting(int, 1, 10_000),
            },
            check=_check_part,
            over="",
            span=_above_zero("times"),
        ),
        Measure(
            "cost_crossing",
            "The length at which attention needs as many multiplications as the feedforward part.",
            (),
            {"width": Setting(int, 1, 10_000)},
            over="",
            span=_above_zero("tokens"),
        ),
        Measure(
            "saved_megabytes",
            "The megabytes that one layer of a part keeps for the backward pass, by the formula.",
            (),
            {
                "part": _TEXT,
                "length": Setting(int, 1, 100_000),
                "width": Setting(int, 1, 10_000),
                "heads": Setting(int, 1, 64, default=4),
            },
            check=_check_part,
            over="",
            span=_above_zero("MB"),
        ),
    )
}


def find_measure(name: str) -> Measure:
    """Return the measure of this name. Raises InvalidSetting."""
    if name not in MEASURES:
        raise InvalidSetting(f"There is no measure “{shorten(name)}”. The measures are {', '.join(MEASURES)}.")
    return MEASURES[name]
