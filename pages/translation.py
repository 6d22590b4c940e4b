"""Translation: how much fits into one vector, and what does attention change?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer import ui
from explorer.labs.translation import (
    ablation,
    alignment,
    answers,
    controls,
    decoding_steps,
    findings,
    results,
)
from explorer.labs.translation.real_model import real_translation
from explorer.labs.translation.state import TranslationState
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import empty_panel, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.real_models import real_model_section
from explorer.ui.training.save_offer import save_offer
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_train_controls, draw_train_offer


def draw_learning(session: PageSession[TranslationState], request: TrainRequest) -> None:
    """Draw the accuracy during the training."""
    with page_section("learning", "Accuracy during training", heading=False):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.header("Accuracy during training", anchor=False)
            draw_train_controls(request, session.state.configs, keys=("translation.run", "translation.stop"))
        results.learning_chart(session.state, request)


def page(session: PageSession[TranslationState]) -> None:
    """Draw the whole page, from the question to the papers."""
    controls.drop_missing_file(session)
    lead("Type a source: a model reads it into one vector, or looks back at each part of it with attention.")
    answers.input_row(session)
    show_problems(session.problems)
    request = TrainRequest.for_section(f"translation-{session.state.task}")
    shown = request.session_with_results(session)
    state, views = shown.state, request.views(shown.state.configs)
    show_problems(request.problems)
    draw_train_offer(request, session.state, lambda: draw_learning(session, request))
    left, right = st.columns(2, gap="large")
    with left, page_section("answers", "Answers of every model", heading=False):
        draw_earlier_note(request)
        answers.section(shown, views)
    with right, page_section("alignment", "Which source tokens does the decoder attend to?", heading=False):
        alignment.section(shown, views)
    controls.settings_row(session, views)
    finished = results.translation_results(state, views)
    kind = {"dates": "by date format", "pairs": "on held-out pairs"}.get(state.task, "by source length")
    with page_section("lengths", f"Accuracy {kind}", heading=False):
        draw_earlier_note(request)
        if finding := findings.exact_match_finding(finished, state.task):
            ui.headline(finding)
            if state.task == "pairs":
                ui.draw_now(results.table_view, state, finished, views)
                results.errors_section(state, views)
            else:
                ui.draw_now(results.exact_match_view, state, finished)
        else:
            empty_panel("No finished run with these settings yet.", 120)
    if not request.offers_missing:
        draw_learning(session, request)
    save_offer(session, request.views(session.state.configs), "your pairs", "their characters, but no pair")
    real_model_section(
        session, "real", "A real translation model", ("encoder-decoder",), partial(real_translation, session)
    )
    folded_section("weights", "How is the attention computed?", partial(alignment.formula_section, state, views))
    if not state.text:  # it is computed for stored runs only
        folded_section("ablation", "Does the decoder need its attention?", partial(ablation.section, state, views))
    folded_section(
        "decoding",
        "What do beam search and the decoder’s own errors change?",
        partial(decoding_steps.section, shown, views),
    )
    folded_section(
        "results",
        "How certain are these results, and how much could a vector hold?",
        partial(results.section, state, finished, views),
    )
    references = dict.fromkeys((each.title, each.paper, each.link) for each in state.variants.values())
    code_and_papers("translation.code", state.configs.values(), references)


visitor_text.remember_text()
session = comparison_session("translation", TranslationState)
page(session)
write_url(session)
