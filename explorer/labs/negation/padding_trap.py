"""Padding with a token that the models count: the answer then depends on the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from explorer.labs.negation import findings
from explorer.labs.negation.findings import Verdict
from explorer.labs.negation.results_tables import answer_cell
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.verdicts import verdicts_of
from explorer.tasks.negation import Negation, true_label
from explorer.ui.components.table import draw_table
from explorer.ui.page_sections import empty_panel, explanation
from explorer.ui.state.session import bind_widget, fragment
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import number_word


def padding_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw what happens when padding is an ordinary token that the models count."""
    st.header("A trap worth seeing", anchor=False)
    explanation(
        "Sentences of a batch must be equally long, so short ones are filled up. Ours are filled with `<PAD>`, which "
        "no model ever counts. Many programs fill with `<EOS>`, an ordinary word of the vocabulary. Then what a model "
        "reads depends on its neighbours in the batch. Turn the trap on and ask the same sentence twice."
    )
    on = session.experiment.task.padding == "eos"
    ties = bind_widget(session, "trap", on, lambda lab, on: lab.with_shared(padding="eos" if on else "pad"))
    st.toggle("Fill up with <EOS>, and count it", **ties)
    fragment(session, "trap", lambda: _compare_paddings(session, views, on))


def _compare_paddings(session: NegationSession, views: Mapping[str, RunView], on: bool) -> None:
    """Draw the answers to the same sentence alone, and padded to the longest sentence of a batch."""
    words = session.words
    longest = max(Negation(session.experiment.task).lengths)
    if len(words) + 2 >= longest:  # no sentence is longer: drop the "not"s
        words = tuple(word for word in words if word != "not")[: longest - 3] or words
    length = len(words) + 2
    truth = true_label(words)
    alone = verdicts_of(views, words, length if on else None)
    padded = verdicts_of(views, words, longest if on else None)
    if not alone:
        empty_panel("No run with this padding yet. Press Train above.", 160)
        return
    st.subheader(findings.padding_finding(alone, padded, truth), anchor=False)
    _paddings_table(alone, padded, " ".join(words), longest - length, truth)


def _paddings_table(
    alone: Sequence[Verdict], padded: Sequence[Verdict], sentence: str, extra: int, truth: int | None
) -> None:
    """Draw a row for each model; `extra` is the number of padding tokens."""
    draw_table(
        [
            {"key": "name", "label": f"“{sentence[:60]}”", "kind": "model", "align": "left"},
            {"key": "alone", "label": "alone", "kind": "verdict", "align": "left"},
            {"key": "seeds-alone", "label": "seeds, P(sustain)", "kind": "strip", "align": "left", "range": [0, 1]},
            {
                "key": "beside",
                "label": f"beside a sentence {number_word(extra)} token{'s' if extra > 1 else ''} longer",
                "kind": "verdict",
                "align": "left",
            },
            {"key": "seeds-beside", "label": "seeds, P(sustain)", "kind": "strip", "align": "left", "range": [0, 1]},
        ],
        [
            {
                "cells": {
                    "name": {"text": a.title, "colour": a.colour},
                    "alone": answer_cell(a, truth),
                    "seeds-alone": {"text": "", "values": [round(float(v), 4) for v in a.sustain]},
                    "beside": answer_cell(b, truth),
                    "seeds-beside": {"text": "", "values": [round(float(v), 4) for v in b.sustain]},
                }
            }
            for a, b in zip(alone, padded, strict=True)
        ],
        key="negation-trap",
        label="The same sentence alone and in company",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )
