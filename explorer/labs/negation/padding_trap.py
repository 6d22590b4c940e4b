"""Padding with a token that the models count: the answer then depends on the batch."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer import charts, ui
from explorer.labs.negation import findings
from explorer.labs.negation.answers import measure_answer
from explorer.labs.negation.findings import ModelAnswer
from explorer.labs.negation.results_tables import answer_cell
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.tasks.negation import NegationConfig
from explorer.ui.wording import number_word


def padding_section(session: NegationSession, views: Mapping[str, ui.RunView]) -> None:
    """Draw what happens when padding is an ordinary token that the models count."""
    ui.explanation(
        "The sentences of a batch must have the same length, so short ones are padded. These models skip "
        "`<PAD>`. If short sentences are padded with `<EOS>` instead, which the models count as a word, the answer to "
        "a sentence depends on its neighbours in the batch."
    )
    on = session.experiment.task.padding == "eos"
    ui.bind_widget(
        session,
        "trap",
        st.toggle,
        shown=on,
        update=lambda lab, on: lab.with_shared(padding="eos" if on else "pad"),
        label="Pad with <EOS> and count it as a word",
    )
    runs = {model: view.loaded_run for model, view in views.items() if view.loaded_run}
    if not runs:
        ui.untrained_panel(views, "No model has a finished run with this padding yet.", 160)
        return
    longest = max(negation_task(session.experiment.task).lengths)

    def calls() -> dict[str, ui.Call[ModelAnswer]]:
        words = session.words
        if len(words) + 2 >= longest:  # no sentence is longer: drop the "not"s
            words = tuple(word for word in words if word != "not")[: longest - 3] or words
        return {
            f"{model}/{name}": ui.Call(measure_answer, run, words, length if on else None)
            for model, run in runs.items()
            for name, length in (("alone", len(words) + 2), ("padded", longest))
        }

    waiting = "The models read both sentences …"
    ui.show_each("trap", calls, paddings_view, session.experiment.task, longest, waiting=waiting, height=320)


def paddings_view(
    document: ui.Document, results: Mapping[str, ModelAnswer], task: NegationConfig, longest: int
) -> None:
    """Write whether padding changes an answer, and a row for each model.

    results: the answer of each model to the sentence "alone" and "padded" to the longest sentence of a batch
    longest: its tokens
    """
    pairs = [
        (alone, padded)
        for name, alone in results.items()
        if name.endswith("/alone") and (padded := results.get(name.replace("/alone", "/padded")))
    ]
    if not pairs:
        return
    words = pairs[0][0].words
    truth, extra = negation_task(task).label_of(words), longest - len(words) - 2
    document.finding(findings.padding_finding([one for one, _ in pairs], [other for _, other in pairs]))
    seeds = charts.Column("seeds, P(sustain)", "strip", range=(0, 1), minor=True)
    longer = f"with a sentence {number_word(extra)} token{'s' if extra > 1 else ''} longer"
    columns = {
        "name": charts.Column(f"“{' '.join(words)[:60]}”", "model", wrap=True),
        "alone": charts.Column("alone", "verdict"),
        "seeds-alone": seeds,
        "beside": charts.Column(longer, "verdict"),
        "seeds-beside": seeds,
    }
    rows = [
        {
            "name": charts.Cell(one.title, one.colour),
            "alone": answer_cell(one, truth),
            "seeds-alone": charts.strip("", one.shown_probabilities),
            "beside": answer_cell(other, truth),
            "seeds-beside": charts.strip("", other.shown_probabilities),
        }
        for one, other in pairs
    ]
    caption = "The answer with its mean probability over the seeds. Framed: wrong."
    document.table(
        "negation-trap", charts.Table(columns, rows, "The same sentence alone and next to a longer one", caption)
    )
