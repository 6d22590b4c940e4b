"""Translation: how much fits into one vector, and what changes when one may look back?"""

from __future__ import annotations

import streamlit as st

from explorer.labs.translation import (
    ablation,
    alignment,
    answers,
    controls,
    copy_control,
    decoding_steps,
    findings,
    formulas,
    training_chart,
)
from explorer.labs.translation.state import TranslationState
from explorer.ui.budgets import budget_sentence, learning_rates_sentence
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import escape_markdown, explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs, draw_train_controls
from explorer.ui.wording import join_words


def page(session: PageSession[TranslationState]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("How much fits into one vector?")
    lead(
        "One net reads a source to its end, another one writes the answer. Between them stands a single vector, or the "
        "chance to look back at every step."
    )
    controls.settings_row(session)
    show_problems(session.problems)
    state, request = session.state, TrainRequest.for_section(f"translation-{session.state.task}")
    views = request.views(state.configs)
    show_problems(request.problems)
    words = {name: each.words for name, each in state.variants.items()}
    draw_missing_runs(request, state.configs, lambda names: join_words([words[name] for name in names]))
    answers.section(session, views)
    results = training_chart.translation_results(state, views)
    if results:
        st.subheader(escape_markdown(findings.exact_match_finding(results, state.task)), anchor=False)
        training_chart.exact_match_chart(state, results)
        compared = {results[name].variant.words: views[name].config for name in results}
        for sentence in (
            findings.exact_match_comparison(results),
            f"{budget_sentence(compared)} {learning_rates_sentence(compared)}".strip(),
        ):
            explanation(escape_markdown(sentence))
        for sentence in findings.other_findings(results):
            explanation(escape_markdown(sentence))
        training_chart.results_table(state, results, views)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        draw_train_controls(request, state.configs, keys=("translation.run", "translation.stop"))
    training_chart.learning_chart(state, request)
    alignment.section(session, views)
    decoding_steps.section(session, views)
    ablation.section(state, views)
    copy_control.section()
    formulas.section(state, results)
    references = dict.fromkeys((each.title, each.paper, each.link) for each in state.variants.values())
    code_and_papers("translation.code", state.configs.values(), references)


session = comparison_session("translation", TranslationState)
page(session)
write_url(session)
