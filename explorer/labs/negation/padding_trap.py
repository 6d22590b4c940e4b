"""Padding with a token that the models count: the answer then depends on the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from explorer.labs.negation import findings
from explorer.labs.negation.answers import measure_answer
from explorer.labs.negation.findings import ModelAnswer
from explorer.labs.negation.results_tables import answer_cell
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.tasks.negation import NegationConfig
from explorer.ui.components.table import add_table, column, strip_cell
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.ui.wording import number_word


def padding_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw what happens when padding is an ordinary token that the models count."""
    explanation(
        "The sentences of a batch must have the same length, so short ones are padded. These models skip "
        "`<PAD>`. If short sentences are padded with `<EOS>` instead, which the models count as a word, the answer to "
        "a sentence depends on its neighbours in the batch."
    )
    on = session.experiment.task.padding == "eos"
    bind_widget(
        session,
        "trap",
        st.toggle,
        shown=on,
        update=lambda lab, on: lab.with_shared(padding="eos" if on else "pad"),
        label="Pad with <EOS> and count it as a word",
    )
    trained = {model: view for model, view in views.items() if view.loaded_run}
    if not trained:
        untrained_panel(views, "No model has a finished run with this padding yet.", 160)
        return
    longest = max(negation_task(session.experiment.task).lengths)

    def requests() -> dict[str, Request[_Padded]]:
        words = session.words
        if len(words) + 2 >= longest:  # no sentence is longer: drop the "not"s
            words = tuple(word for word in words if word != "not")[: longest - 3] or words
        return {
            model: (("trap", words, longest, on, *view.cache_key), partial(_measure, view, words, longest, on))
            for model, view in trained.items()
        }

    result_section(
        "trap",
        requests,
        partial(_draw_paddings, session.experiment.task, longest),
        "The models read both sentences …",
        320,
    )


@dataclass(frozen=True, eq=False)
class _Padded:
    """The answers of one model to a sentence alone, and padded to the longest sentence of a batch."""

    words: tuple[str, ...]
    alone: ModelAnswer
    padded: ModelAnswer


def _measure(view: RunView, words: tuple[str, ...], longest: int, on: bool) -> _Padded:
    alone, padded = (measure_answer(view, words, length if on else None) for length in (len(words) + 2, longest))
    return _Padded(words, alone, padded)


def _draw_paddings(task: NegationConfig, longest: int, document: Document, results: Mapping[str, _Padded]) -> None:
    words = next(iter(results.values())).words
    truth = negation_task(task).label_of(words)
    alone, padded = [one.alone for one in results.values()], [one.padded for one in results.values()]
    document.finding(findings.padding_finding(alone, padded))
    _add_paddings_table(document, alone, padded, " ".join(words), longest - len(words) - 2, truth)


def _add_paddings_table(
    document: Document,
    alone: Sequence[ModelAnswer],
    padded: Sequence[ModelAnswer],
    sentence: str,
    extra: int,
    truth: int | None,
) -> None:
    """Add a row for each model; `extra` is the number of padding tokens."""
    strip = {"label": "seeds, P(sustain)", "kind": "strip", "align": "left", "range": [0, 1], "minor": True}
    add_table(
        document,
        [
            column("name", f"“{sentence[:60]}”", "model", wrap=True),
            column("alone", "alone", "verdict"),
            {"key": "seeds-alone", **strip},
            column("beside", f"with a sentence {number_word(extra)} token{'s' if extra > 1 else ''} longer", "verdict"),
            {"key": "seeds-beside", **strip},
        ],
        [
            {
                "name": {"text": a.title, "colour": a.colour},
                "alone": answer_cell(a, truth),
                "seeds-alone": strip_cell("", a.shown_probabilities),
                "beside": answer_cell(b, truth),
                "seeds-beside": strip_cell("", b.shown_probabilities),
            }
            for a, b in zip(alone, padded, strict=True)
        ],
        key="negation-trap",
        label="The same sentence alone and next to a longer one",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )
