"""The choice of the text and the models, and their training curves."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer import charts, ui
from explorer.errors import CorpusMissing, NeedsText
from explorer.labs.word_vectors.state import CORPUS_DESCRIPTIONS, WordVectorsState
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.text_picker import draw_missing_corpus, draw_own_text_form, with_other_corpus


def controls(session: ui.PageSession[WordVectorsState]) -> None:
    """Draw the choice of the text, the models and, folded, their settings."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        about = ui.escape_markdown(CORPUS_DESCRIPTIONS[session.state.corpus])
        ui.bind_widget(session, "corpus", st.segmented_control, update=with_other_corpus, help=about)
        ui.bind_widget(session, "who", st.pills, selection_mode="multi")
        with st.popover("Settings", icon=":material/tune:"):
            for name in ("seeds", "steps", "seed", "width", "window", "negatives", "min_count"):
                ui.bind_widget(session, name, st.number_input)
            ui.bind_widget(session, "rate", st.number_input, format="%.4f")
            ui.bind_widget(session, "subsampling", st.number_input, format="%.5f")
            ui.reset_button(session)
    if session.state.corpus == "own":
        draw_own_text_form(session)
        if not session.state.text:
            ui.caption("The results of the grammar are shown until you enter a text.")
    if session.state.read_corpus == "own":
        try:
            corpora.load_text(TextConfig(corpus="own", text=session.state.text))
        except (NeedsText, CorpusMissing) as error:
            ui.show_problems([f"{error} The results of the grammar are shown."])
            session.state = replace(session.state, text="")


_METRICS = [
    ui.Metric("loss", "Loss (nats)", charts.Axis(span=(0.0, 1.0)), headroom=1.05),
    ui.Metric("analogy_accuracy", "Analogies answered correctly"),
    ui.Metric("neighbour_purity", "Neighbours of the same kind"),  # the grammar says which are
]


def training_section(state: WordVectorsState, request: ui.TrainRequest) -> None:
    """Draw loss, analogy accuracy and, for the grammar, the kinds of neighbours by step."""
    if request.session and not corpora.is_corpus_available(state.corpus):  # its stored vectors need no text
        draw_missing_corpus(request.session, "Tiny Shakespeare is not on this server yet: download it to train on it.")
    planted = state.read_corpus == "grammar"
    metrics = _METRICS if planted else _METRICS[:2]
    analogies = (
        "Analogies: all planted questions; the words of the question cannot be answers. Neighbours: the share of a "
        "word’s five nearest words that the grammar uses in the same sentences."
        if planted
        else "Analogies: questions about pairs such as king and queen, if the text has at least two of them."
    )
    ui.draw_learning_chart(
        "words-training",
        request,
        state.configs,
        ui.curve_panels(metrics, state.variants),
        "Loss: distinguishing true neighbours from noise words in the training text; the losses of skip-gram and CBOW "
        f"cannot be compared. {analogies} Line: median over seeds; band: lowest to highest.",
        run=f"words-{state.read_corpus}",
        height=260,
        narrow_height=210,
        columns=len(metrics),
    )
