"""The measures that lessons can use: name, settings and checks. Needs no torch; `measure.py` computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from explorer.catalogue import TASKS, task_row
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.hub.suitable import Need
from explorer.inspection.transformer.softmax_scaling import WIDTHS
from explorer.inspection.words import word_vectors
from explorer.run_store import store
from explorer.tasks import recall
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.tasks.own_sentences import Language
from explorer.tasks.sentiment.config import CLASSES as ENGLISH_CLASSES
from explorer.tasks.seq2seq import digits
from explorer.tasks.sequence_labelling import delayed_copy, induction
from explorer.training.config import RunConfig

Check = Callable[[Mapping[str, Any]], None]
# Returns the least and the largest possible value of a measure with these settings (None: no limit), and the unit.
Span = Callable[[Mapping[str, Any]], "tuple[float | None, float | None, str]"]
HEAD_SCORES = ("previous", "itself", "first", "same", "after_same", "spread")
INTERVENTIONS = ("none", "uniform", "frozen", "cut", "shuffled")
POSITIONS = ("none", "sinusoidal", "learned", "rotary")
REAL_HEADS = ("induction", "previous")
REAL_REMOVALS = ("none", "best", "two_best", "four_best", "previous", "control")  # groups of heads
FIRST_TOKENS = ("unchanged", "replaced", "removed", "longer", "random")  # texts, and a network with random weights
WEIGHTS = ("trained", "random")
NOUNS = ("actual", "chance")
NORMS = ("none", "post", "pre")  # without norms, or with norms after or before each part
VISIBLE = ("all", "past")  # all positions (encoder), or past positions only (causal mask)
FEWEST_SENTENCES, MOST_SENTENCES = 4, 8  # of a visitor, for a real encoder; the page reads as many
_MOST_WORDS = 20  # the limit of the page about positions


@dataclass(frozen=True)
class Setting:
    """The type and the range of one setting of a measure."""

    kind: type[str] | type[int] | type[float]
    low: int | float = 0
    high: int | float = 0
    default: object = None  # None if it must be given
    choices: tuple[str, ...] = ()  # the possible texts, if there are few

    @property
    def type_name(self) -> str:
        return {str: "text", int: "whole number", float: "number"}[self.kind]

    def describe(self) -> str:
        """Return the type, the range and the default, such as “whole number from 1 to 64, default 4”."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        limits = "" if self.kind is str else f" from {self.low:,g} to {self.high:,g}"
        return f"{self.type_name}{limits}{'' if self.default is None else f', default {self.default}'}"


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
    real_model: Need | None = None  # the kind of an opened real model that is measured, if it measures one

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
            text = _yes_or_no(given[name]) if setting.choices == ("yes", "no") else given[name]
            if setting.choices:
                _check_choice(name, setting.choices, text)
            return text
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


def _check_choice(name: str, known: tuple[str, ...], text: str) -> None:
    if text not in known:
        raise InvalidSetting(f"{name} = “{shorten(text)}” is not possible. Give one of {', '.join(known)}.")


def _check_metric(given: Mapping[str, Any]) -> None:
    _check_choice("metric", tuple(store.find(given["run"]).card.metrics), given["metric"])


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


def _check_english(given: Mapping[str, Any]) -> None:
    Language.from_json(store.find(given["run"]).tokenizer).vocabulary.split(given["sentence"])


def _check_words(given: Mapping[str, Any]) -> None:
    for name in ("sentence", "other"):
        count = len(given[name].split())
        if not 1 <= count <= _MOST_WORDS:
            raise InvalidSetting(f"“{shorten(given[name])}” has {count} words. Give 1 to {_MOST_WORDS}.")


def _check_vectors(given: Mapping[str, Any]) -> None:
    word_vectors.load_table(store.find(given["run"])).ids([given["word"], given["other"]])


def _check_width(given: Mapping[str, Any]) -> None:
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
    if getattr(_config(given).model, "layers", 0) < 2:
        raise InvalidSetting(f"Run “{given['run']}” has one layer, and so no induction head. Name one with two layers.")


def _check_head_score(given: Mapping[str, Any]) -> None:
    _check_head(given)
    _check_step(given)


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a visitor, which a URL separates by slashes."""
    return tuple(each.strip() for each in text.split("/") if each.strip())


def _check_halves(given: Mapping[str, Any]) -> None:
    count = len(split_sentences(given["sentences"]))
    if not FEWEST_SENTENCES <= count <= MOST_SENTENCES or count % 2:
        raise InvalidSetting(
            f"You have {count} sentences. Write {FEWEST_SENTENCES}, 6 or {MOST_SENTENCES}: the first half with one "
            "sense of the word, the second half with the other one."
        )


def _check_probabilities(given: Mapping[str, Any]) -> None:
    for text in given["probabilities"].split():
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1:
            raise InvalidSetting(f"“{shorten(text)}” is not a probability above 0 and up to 1.")


def _yes_or_no(text: str) -> str:
    """Return a boolean of a URL as a lesson writes it."""
    return {"true": "yes", "True": "yes", "false": "no", "False": "no"}.get(text, text)


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
_YES_OR_NO = Setting(str, choices=("yes", "no"))
_HEAD_SCORE = Setting(str, choices=HEAD_SCORES)
_PART = Setting(str, choices=("attention", "fused", "feedforward", "rnn", "gru", "lstm"))  # PARTS, which needs numpy
_STEP = Setting(int, -1, 1_000_000, default=-1)  # of the training; -1 is the last
_TEMPERATURE = Setting(float, 0.0, 2.0)
_LENGTH, _TOKENS = Setting(int, 1, 1_000), Setting(int, 20, 400, default=200)
_SIZES = {"length": Setting(int, 1, 100_000), "width": Setting(int, 1, 10_000)}
_PIECES = {"text": _TEXT, "vocabulary": Setting(int, 2, 2_000)}
_LAYER_AND_HEAD = {"layer": Setting(int, 0, 63), "head": Setting(int, 0, 63)}
_PROMPT = {"run": _RUN, "prompt": _TEXT}
_HEAD = {"run": _RUN, "text": _TEXT, **_LAYER_AND_HEAD}
_HABIT = {**_HEAD, "habit": _HEAD_SCORE, "step": _STEP}
_ALL_HEADS = {"layer": 0, "head": 0}  # a head that every model with heads has, to check settings without one
_NEGATION_TASKS, _TEXT_TASKS, _DIGIT_TASKS = ("negation",), ("text",), ("reverse", "copy")


def _single(name: str, about: str, needs: Mapping[str, Setting], **more: Any) -> Measure:
    """Return a measure that has a single value and needs no run."""
    return Measure(name, about, (), needs, over="", **more)


def _of_real_model(
    kind: Need, name: str, about: str, over: str, needs: Mapping[str, Setting] | None = None, **more: Any
) -> Measure:
    """Return a measure of an opened real model."""
    return Measure(name, about, (), needs or {}, over=over, real_model=kind, **more)


_of_language_model, _of_encoder = (partial(_of_real_model, kind) for kind in ("language model", "encoder"))

MEASURES = {
    each.name: each
    for each in (
        Measure(
            "score",
            "The value of a metric at the end of a run.",
            tuple(TASKS),
            {"run": _RUN, "metric": _TEXT},
            check=_check_metric,
            span=_metric_span,
        ),
        Measure(
            "fall",
            "How much lower a metric of the run `run` is than that of the run `other`, for each seed.",
            tuple(TASKS),
            {"run": _RUN, "other": _RUN, "metric": _TEXT},
            check=_check_fall,
        ),
        Measure(
            "at_length",
            "The share of right answers to sequences of a length, evaluated at the end of the run.",
            ("recall", "echo", *_DIGIT_TASKS),
            {"run": _RUN, "length": _LENGTH},
            check=_check_length,
            span=_share,
        ),
        Measure(
            "solved",
            "The number of seeds of a run with an accuracy of at least 0.95 on new sequences.",
            ("recall",),
            {"run": _RUN},
            over="",
            span=_seeds,
        ),
        Measure(
            "reached",
            "The number of seeds of a run whose metric is at least `least` at its end.",
            tuple(TASKS),
            {"run": _RUN, "metric": _TEXT, "least": Setting(float, 0.0, 1.0, default=0.95)},
            check=_check_metric,
            over="",
            span=_seeds,
        ),
        Measure(
            "says",
            "The class that a model predicts for a sentence.",
            _NEGATION_TASKS,
            {"run": _RUN, "sentence": _TEXT},
            labels=CLASSES,
            check=_check_sentences,
        ),
        Measure(
            "sustain",
            "The probability of the class sustain for a sentence.",
            _NEGATION_TASKS,
            {"run": _RUN, "sentence": _TEXT},
            check=_check_sentences,
            span=_share,
        ),
        Measure(
            "apart",
            "The absolute difference between the probabilities of the class sustain for two sentences.",
            _NEGATION_TASKS,
            {"run": _RUN, "sentence": _TEXT, "other": _TEXT},
            check=_check_sentences,
            span=_share,
        ),
        Measure(
            "judges",
            "The class that a model gives an English sentence.",
            ("sentiment",),
            {"run": _RUN, "sentence": _TEXT},
            labels=ENGLISH_CLASSES,
            check=_check_english,
        ),
        Measure(
            "gradient",
            "The gradient norm at the first symbol divided by that at the last symbol, on new sequences.",
            ("recall",),
            {"run": _RUN, "step": _STEP},
            check=_check_step,
            span=_above_zero(""),
        ),
        Measure(
            "terms",
            "The number of last time steps that make up the share `share` of the gradient of the recurrent matrix, on "
            "new sequences.",
            ("recall",),
            {"run": _RUN, "step": _STEP, "share": Setting(float, 0.01, 1.0, default=0.99)},
            check=_check_step,
            span=_above_zero("steps"),
        ),
        Measure(
            "kept",
            "The share of its content that a gated cell keeps in one step, for the unit that keeps most.",
            ("recall",),
            {"run": _RUN},
            span=_share,
        ),
        _single(
            "left",
            "The share of a content that is left after `steps` steps if a gate keeps the share `gate` at every step "
            "but the first.",
            {"gate": Setting(float, 0.0, 1.0), "steps": Setting(int, 2, 1_000, default=50)},
            span=_share,
        ),
        Measure(
            "mirror",
            "The mean attention weight of a translation model on the digit that it has to generate next.",
            ("reverse",),
            {"run": _RUN, "digits": _TEXT},
            check=_check_digits,
            span=_share,
        ),
        Measure(
            "touched",
            "The share of right answers at a length after an intervention: uniform attention, attention frozen at that "
            "of the first step, the output of the encoder cut (set to zero), or a shuffled source.",
            _DIGIT_TASKS,
            {"run": _RUN, "touch": Setting(str, choices=INTERVENTIONS), "length": _LENGTH},
            check=_check_intervention,
            span=_share,
        ),
        _single(
            "strongest",
            "The largest weight that softmax gives one of 64 random keys for a random query (median of all draws), "
            "with the scores divided by the square root of the width or not.",
            {"width": Setting(int, 1, 1_024), "divided": _YES_OR_NO},
            check=_check_width,
            span=_share,
        ),
        Measure(
            "order",
            "The distance between the vectors of two sentences in untrained Transformers, divided by the length of "
            "these vectors. `sees`: whether a token attends to all tokens or to past ones only.",
            (),
            {
                "sentence": _TEXT,
                "other": _TEXT,
                "positions": Setting(str, choices=POSITIONS),
                "sees": Setting(str, choices=VISIBLE),
            },
            check=_check_words,
            span=_above_zero(""),
        ),
        Measure(
            "similarity",
            "The cosine similarity of the vectors of two words.",
            ("word_vectors",),
            {"run": _RUN, "word": _TEXT, "other": _TEXT},
            check=_check_vectors,
            span=lambda given: (-1.0, 1.0, ""),
        ),
        Measure(
            "habit",
            "The score of a head on a text: the mean share of its attention on the previous token, the token itself, "
            "the first token, earlier tokens that are the same, or the tokens after those; or the spread, the "
            "effective number of tokens attended to.",
            _TEXT_TASKS,
            _HABIT,
            check=_check_head_score,
            span=_share,
        ),
        Measure(
            "largest_head_score",
            "The highest score of all heads on a text; see `habit`.",
            _TEXT_TASKS,
            {"run": _RUN, "text": _TEXT, "habit": _HEAD_SCORE, "step": _STEP},
            check=_check_head_scores,
            span=_share,
        ),
        Measure(
            "visible",
            "The number of tokens that the token at position `place` (counted from 1) may attend to.",
            _TEXT_TASKS,
            {**_HEAD, "place": _LENGTH},
            check=_check_head,
            over="",
        ),
        Measure(
            "head_off",
            "The increase of the loss in nats when one head is switched off.",
            _TEXT_TASKS,
            {"run": _RUN, **_LAYER_AND_HEAD},
            check=_check_head,
            span=_above_zero("nats"),
        ),
        Measure(
            "largest_head_importance",
            "The increase of the loss in nats when the most important head is switched off.",
            _TEXT_TASKS,
            {"run": _RUN},
            check=_check_heads,
            span=_above_zero("nats"),
        ),
        Measure(
            "loss_without",
            "The loss in nats on the second copy of random symbols when one head of each seed is switched off: the "
            "head with this role, which is found by its scores.",
            ("induction",),
            {"run": _RUN, "role": Setting(str, choices=induction.ROLES)},
            check=_check_role,
            span=_above_zero("nats"),
        ),
        Measure(
            "likeliest",
            "The probability of the most likely next token.",
            _TEXT_TASKS,
            {**_PROMPT, "temperature": _TEMPERATURE},
            span=_share,
        ),
        Measure(
            "grows",
            "The probability of the most likely next token at `temperature`, divided by that at the temperature "
            "`other`.",
            _TEXT_TASKS,
            {**_PROMPT, "temperature": _TEMPERATURE, "other": _TEMPERATURE},
            span=_above_zero("times"),
        ),
        Measure(
            "choices_left",
            "The number of tokens that top-p keeps.",
            _TEXT_TASKS,
            {**_PROMPT, "top_p": Setting(float, 0.0, 1.0), "temperature": Setting(float, 0.0, 2.0, default=1.0)},
            span=_above_zero("letters"),
        ),
        Measure(
            "repeats",
            "The share of 8-grams in a generated text that occurred in it before, for eight texts (at temperature 0: "
            "for one).",
            _TEXT_TASKS,
            {**_PROMPT, "temperature": _TEMPERATURE, "tokens": _TOKENS},
            over="generated texts",
            span=_share,
        ),
        Measure(
            "in_common",
            "The number of tokens that two texts share at their beginning if they are generated at two temperatures "
            "with the same random numbers.",
            _TEXT_TASKS,
            {
                **_PROMPT,
                "temperature": _TEMPERATURE,
                "other": _TEMPERATURE,
                "tokens": _TOKENS,
                "throws": Setting(int, 1, 64, default=8),
            },
            over="pairs of texts",
            span=_above_zero("letters"),
        ),
        _single(
            "pieces",
            "The number of tokens of a text after byte-pair encoding with a vocabulary learned on Tiny Shakespeare.",
            _PIECES,
            span=_above_zero("tokens"),
        ),
        _single(
            "unknown",
            "The number of unknown tokens of a text after byte-pair encoding with a vocabulary learned on Tiny "
            "Shakespeare.",
            _PIECES,
            span=_above_zero("tokens"),
        ),
        _single(
            "setting",
            "A number that is set on the page. Only tasks use this measure.",
            {"value": Setting(float, -1e9, 1e9)},
        ),
        _single(
            "perplexity_of",
            "The perplexity of a model that gave the tokens of a text these probabilities (separated by spaces).",
            {"probabilities": _TEXT},
            check=_check_probabilities,
            span=lambda given: (1.0, None, ""),
        ),
        Measure(
            "per_letter",
            "The perplexity per character of a model with any tokens: 2 to the power of its bits per character.",
            _TEXT_TASKS,
            {"run": _RUN},
            span=lambda given: (1.0, None, "letters"),
        ),
        _single(
            "perplexity_per_unit",
            "The perplexity per byte or character, from a perplexity per token and the mean number of these units in a "
            "token.",
            {"perplexity": Setting(float, 1, 1e9), "units": Setting(float, 0.01, 1e3)},
            span=lambda given: (1.0, None, ""),
        ),
        Measure(
            "stream_gradient",
            "The gradient norm at the input of an untrained stack of blocks divided by that at its output. Norms are "
            "after (post) or before (pre) each part.",
            (),
            {"residual": _YES_OR_NO, "norm": Setting(str, choices=NORMS), "layers": Setting(int, 1, 24)},
            span=_above_zero(""),
        ),
        _single(
            "cost_growth",
            "The number of multiplications of a part at twice the length, divided by that at the length.",
            {"part": _PART, **_SIZES},
            span=_above_zero("times"),
        ),
        _single(
            "cost_ratio",
            "The number of multiplications of one part divided by that of another one.",
            {"part": _PART, "other": _PART, **_SIZES},
            span=_above_zero("times"),
        ),
        _single(
            "cost_crossing",
            "The length from which on attention needs at least as many multiplications as the feedforward part.",
            {"width": Setting(int, 1, 10_000)},
            span=_above_zero("tokens"),
        ),
        _single(
            "saved_megabytes",
            "The memory in MB that one layer of a part keeps for the backward pass, by the formula.",
            {"part": _PART, **_SIZES, "heads": Setting(int, 1, 64, default=4)},
            span=_above_zero("MB"),
        ),
        _of_language_model(
            "real_head_score",
            "In a real language model that reads random tokens twice: the attention of the best induction head to the "
            "token after the earlier occurrence, or of the previous-token head below it to the token before.",
            "random sequences",
            {"head": Setting(str, choices=REAL_HEADS)},
            span=_share,
        ),
        _of_language_model(
            "real_loss_without",
            "The loss of a real language model on the second copy of random tokens, in nats, without the best "
            "induction head, the two or four best ones, the previous-token head, or random heads instead of the four "
            "best ones (control).",
            "random sequences",
            {"removed": Setting(str, choices=REAL_REMOVALS)},
            span=_above_zero("nats"),
        ),
        _of_language_model(
            "real_first_token",
            "The share of the heads of a real language model that give more than half of their attention to the first "
            "token of a sentence: as it is, with the first token replaced by a random one or removed, in four "
            "sentences in a row (longer), or in a network with random weights.",
            "texts",
            {"texts": Setting(str, choices=FIRST_TOKENS)},
            span=_share,
        ),
        _of_language_model(
            "real_first_value",
            "The length of the value vector of the first token, divided by that of the others, in the heads of a real "
            "language model that give more than half of their attention to it.",
            "sentences",
            span=_above_zero("times"),
        ),
        _of_encoder(
            "real_same_sense",
            "The share of the occurrences of an ambiguous word whose nearest occurrence has the same sense, in a real "
            "encoder or in one with random weights, after `depth` layers (-1: after the last one).",
            "words",
            {"weights": Setting(str, choices=WEIGHTS), "depth": Setting(int, -1, 1_000, default=-1)},
            span=_share,
        ),
        _of_encoder(
            "real_meaning_of_it",
            "The share of pairs of sentences in which the best head of a real encoder attends from “it” to the right "
            "noun in both: of the actual right nouns, or the mean with random nouns as the right ones (chance).",
            "",
            {"nouns": Setting(str, choices=NOUNS)},
            span=_share,
        ),
        _of_language_model(
            "real_answer_depth",
            "The share of the layers of a real language model after which the answer to a prompt stays the most "
            "probable token (logit lens).",
            "prompts",
            span=_share,
        ),
        _of_language_model(
            "real_answer_rank",
            "The rank of the answer to a prompt among all tokens, a number of layers before the end of a real language "
            "model (logit lens).",
            "prompts",
            {"before_end": Setting(int, 0, 1_000)},
            span=lambda given: (1.0, None, ""),
        ),
        _of_language_model(
            "real_answer_rise",
            "The number of layers within which the probability of the answer rises from a tenth to a half of its "
            "highest value in a real language model (logit lens).",
            "prompts",
            span=_above_zero("layers"),
        ),
        _of_language_model(
            "real_own_first_token",
            "How much less attention a head of a real language model gives to the first token of a text than to that "
            "of each of 20 other texts of the same length: the lowest of their shares minus its share. It has to be a "
            "head that gives more than half of its attention to the first token of English sentences.",
            "",
            {"model": _TEXT, "text": _TEXT, **_LAYER_AND_HEAD},
            span=lambda given: (-1.0, 1.0, ""),
        ),
        _of_encoder(
            "real_own_senses",
            "The share of all halvings of some sentences that the vectors of a word after the last layer of a real "
            "encoder separate as well as the first and the second half (sentences with “/” between them). There is no "
            "value if networks with random weights separate the halves too.",
            "",
            {"model": _TEXT, "sentences": _TEXT, "word": _TEXT},
            check=_check_halves,
            span=_share,
        ),
        _of_language_model(
            "real_own_answer_depth",
            "The share of the layers of a real language model after which the most probable token after a text stays "
            "the most probable one (logit lens). There is no value if the model is unsure, or if the logit lens shows "
            "this token after other texts too.",
            "",
            {"model": _TEXT, "text": _TEXT},
            span=_share,
        ),
    )
}


def find_measure(name: str) -> Measure:
    """Return the measure of this name. Raises InvalidSetting."""
    if name not in MEASURES:
        raise InvalidSetting(f"There is no measure “{shorten(name)}”. The measures are {', '.join(MEASURES)}.")
    return MEASURES[name]
