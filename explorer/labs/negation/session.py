"""What one visitor has on the negation page: its language, the experiment and the last sentence that could be read."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from explorer.catalogue import task_row
from explorer.errors import LineageError
from explorer.labs.negation.state import EnglishLab, NegationLab, negation_task
from explorer.tasks.negation import VOCABULARY, Negation
from explorer.ui.state.run_lookup import find_config
from explorer.ui.state.session import ExperimentSession, focused_run, has_just_arrived, unread_url
from explorer.ui.state.visitor import current_visitor


@dataclass
class NegationSession(ExperimentSession[NegationLab]):
    """The session of the negation page."""

    state: NegationLab = field(default_factory=NegationLab)
    words: tuple[str, ...] = VOCABULARY.split(NegationLab.say)  # the last valid sentence: the models are asked about it

    @property
    def data(self) -> Negation:
        """The sentences of the version of the task. Raises NeedsText for a file that is not in memory any more."""
        return negation_task(self.experiment.task)

    def write(self) -> dict[str, str]:
        return super().write() or {"language": "words"}  # an address that names nothing is in English

    def kept_across_runs(self) -> dict[str, str]:
        return {"say": self.experiment.say}


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
