"""The state of the negation page in English: a sentence, models and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import streamlit as st

from explorer.catalogue import MODELS, models_of, task_row
from explorer.errors import LineageError
from explorer.experiments.default_runs import ENGLISH_MODELS, SENTIMENT_SEEDS
from explorer.labs.negation.state import MAX_URL_TEXT
from explorer.model.example_texts import ENGLISH_EXAMPLES
from explorer.ui.state.fields import setting
from explorer.ui.state.open_experiment import OpenExperiment
from explorer.ui.state.run_lookup import find_config
from explorer.ui.state.session import ExperimentSession, focused_run, has_just_arrived, unread_url
from explorer.ui.state.visitor import current_visitor

MAX_TYPED = 10_000  # characters of the sentence; a longer one than MAX_URL_TEXT is not in the address
# A training of some seconds, in which the models learn from fewer sentences.
_SHORT: Mapping[str, object] = {"replicas": 1, "iterations": 1_500, "composed": 20_000}
_SHORT_MODELS = ("bag_of_words", "gru")
_TITLES = {model: MODELS[model].title for model in models_of("sentiment")}
METRICS = {"accuracy": "Accuracy", "loss": "Training loss"}


@dataclass(frozen=True)
class EnglishLab(OpenExperiment):
    """The state of the page in English; its fields are URL parameters."""

    TASK: ClassVar[str] = "sentiment"
    SHARED: ClassVar[tuple[str, ...]] = (
        *("reviews", "composed", "words", "vocabulary", "data_seed", "corpus", "text"),
        *("batch_size", "seed", "replicas", "iterations"),
    )
    OWN: ClassVar[tuple[str, ...]] = ("learning_rate",)

    language: Literal["english"] = setting("english")
    models: tuple[str, ...] = setting(ENGLISH_MODELS, "Models", options=_TITLES)
    say: str = setting(ENGLISH_EXAMPLES[0], "Type any English sentence", longest=MAX_URL_TEXT)
    metric: Literal["accuracy", "loss"] = setting("accuracy", "Measure", options=METRICS)
    look: int = setting(0, low=0, high=lambda lab: lab.value("replicas") - 1)  # the replica whose internals are shown
    layer: int = setting(1, low=0, high=lambda lab: lab.value("layers", "transformer") - 1)
    head: int | None = setting(None, low=0, high=lambda lab: lab.value("heads", "transformer") - 1)

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        return {"replicas": SENTIMENT_SEEDS}

    @property
    def has_file(self) -> bool:
        """Whether the models also learn from a visitor's own sentences."""
        return bool(self.value("corpus") == "own")

    def with_file(self, sha: str) -> EnglishLab:
        """Return the state in which the models also learn from the sentences of a file, in a short training.

        Raises TextError, NeedsText or InvalidSetting.
        """
        from explorer.tasks.sentiment.data import read_own_sentences

        read_own_sentences(sha)
        return self.short().with_shared(corpus="own", text=sha)

    def short(self) -> EnglishLab:
        """Return the state with a short training of two models."""
        return replace(self, models=_SHORT_MODELS).with_shared(**_SHORT)

    def reset(self) -> EnglishLab:
        """Return the default settings with the same sentence and views."""
        kept = ("say", "metric", "look", "layer", "head")
        return EnglishLab(**{name: getattr(self, name) for name in kept}).clamp()


@dataclass
class EnglishSession(ExperimentSession[EnglishLab]):
    """The session of the page in English; `words` are the pieces that the models read."""

    state: EnglishLab = field(default_factory=EnglishLab)
    words: tuple[str, ...] = ()

    def kept_across_runs(self) -> dict[str, str]:
        return {"say": self.experiment.say}

    def write(self) -> dict[str, str]:
        own = super().write()
        return {"language": "english", **own} if own else {}


_ENGLISH = "lineage.negation.english"  # whether the page is in English


def shows_english() -> bool:
    """Return whether the page is in English: as its address says, or else as the visitor left it.

    An address without a language is in English if it names nothing, or a run on English sentences.
    """
    params, run = unread_url(), focused_run()
    if params is None and has_just_arrived() and _task_of(run) in ("negation", "sentiment"):
        params = {"run": run}
    if params is not None:
        default = not params or _task_of(params.get("run", "")) == "sentiment"
        st.session_state[_ENGLISH] = params["language"] == "english" if "language" in params else default
    return bool(st.session_state.setdefault(_ENGLISH, True))


def choose_language(english: bool) -> None:
    """Show the page in English, or in the language of six words."""
    st.session_state[_ENGLISH] = english


def _task_of(run: str) -> str:
    """Return the name of the task of a run; empty for no run or an unknown one."""
    try:
        return task_row(find_config(run, current_visitor().id).task).name if run else ""
    except LineageError:
        return ""
