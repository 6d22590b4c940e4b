"""The sentence encoder: how does a word come to mean what its sentence means?"""

from __future__ import annotations

import streamlit as st

from explorer.labs.sentence_encoder.formulas import formulas_section
from explorer.labs.sentence_encoder.layer_curves import accuracy_section, curves_section, training_section
from explorer.labs.sentence_encoder.sense_map import map_section
from explorer.labs.sentence_encoder.state import SentenceEncoderState, parse_sentences
from explorer.labs.sentence_encoder.training_settings import controls
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import lead, page_head, show_problems
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs, draw_train_controls
from explorer.ui.wording import join_words


def page(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the whole page."""
    page_head("How does a word come to mean what its sentence means?")
    lead(
        "“Bank” has one embedding and two senses. A small Transformer encoder reads sentences of a generated language; "
        "write your own, and watch the word move from layer to layer."
    )
    controls(session)
    show_problems(session.problems)
    state, request = session.state, TrainRequest.for_section(f"sentences-{session.state.task}")
    views = request.views(state.configs)
    show_problems(request.problems)
    words = {name: each.words for name, each in state.variants.items()}
    draw_missing_runs(request, state.configs, lambda names: join_words([words[name] for name in names]))
    curves_section(state, views)
    accuracy_section(state, views)
    map_section(session, views, parse_sentences(state.lines))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        draw_train_controls(request, state.configs, keys=("sentences.run", "sentences.stop"))
    training_section(state, request)
    formulas_section(state)
    code_and_papers("sentences.code", state.configs.values(), [paper_of(next(iter(views.values())).row)])


session = comparison_session("sentences", SentenceEncoderState)
page(session)
write_url(session)
