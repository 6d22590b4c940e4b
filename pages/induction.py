"""Induction heads: how does a Transformer continue a sequence that it has seen once?"""

from __future__ import annotations

import streamlit as st

from explorer.labs.induction import findings
from explorer.labs.induction.ablation import ablation_section, real_model_section
from explorer.labs.induction.heads import heads_section
from explorer.labs.induction.row_input import controls, row_section
from explorer.labs.induction.state import InductionState
from explorer.labs.induction.training import final_values, moments_view, training_section
from explorer.ui.code_and_papers import MICHEL_2019, OLSSON_2022, code_and_papers
from explorer.ui.page_sections import explanation, headline, lead, paragraph, show_problems
from explorer.ui.result_section import draw_now
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_train_controls, draw_train_offer

FILES = {
    "The model": "models/transformer_tagger.py",
    "The rows and the scores": "tasks/sequence_labelling/induction.py",
    "Removing heads": "inspection/transformer/induction.py",
    "Heads of a real model": "inspection/pretrained/repeated_tokens.py",
}
PAPERS = (
    (
        "Induction heads in two layers",
        "Elhage et al. 2021, A mathematical framework for Transformer circuits",
        "https://transformer-circuits.pub/2021/framework/index.html",
    ),
    ("When they appear in language models", *OLSSON_2022),
    ("Removing heads", *MICHEL_2019),
)


def formulas_section() -> None:
    """Draw what the second layer adds, and what one layer can do."""
    explanation(
        "The previous-token head of layer 1 adds to each position the token before it. So a key of layer 2 contains "
        "that token, and the query of the current token can find it:"
    )
    st.latex(r"s_{tj} = \frac{1}{\sqrt{d}} \, (W_Q\, x_t) \cdot W_K \big(x_j + W_O W_V\, x_{j-1}\big)")
    explanation(
        "This score is high where the token before position j equals the current token. The head then copies the token "
        "at position j, which is the one that followed. With one layer a key contains its own token only, so a head "
        "can find the same symbol, but not the one after it (Elhage et al. 2021). One layer can still copy in another "
        "way: with enough heads and learned positions it looks up the symbol that stands a known number of positions "
        "back, and fails where the copies have a length that it was not trained on."
    )


def draw_learning(session: PageSession[InductionState], request: TrainRequest) -> None:
    """Draw how the models learn."""
    with page_section("training", "How do the models learn it?"):
        draw_train_controls(request, session.state.configs, keys=("induction.run", "induction.stop"))
        training_section(session.state, request)


def page(session: PageSession[InductionState]) -> None:
    """Draw the whole page."""
    lead("**Type a few letters twice**: three small Transformers predict each next letter, from attention alone.")
    request = TrainRequest.for_section("induction")
    shown = request.session_with_results(session)
    controls(session)
    show_problems(session.problems)
    state, views = shown.state, request.views(shown.state.configs)
    show_problems(request.problems)
    draw_train_offer(request, session.state, lambda: draw_learning(session, request))
    draw_earlier_note(request)
    finding, typed = findings.accuracy_finding(final_values(state, views, "accuracy")), state.row is not None
    headline("" if typed else finding)  # the headline of a typed row is about that row
    row_section(state, views)
    paragraph(f"On random rows, {finding[0].lower()}{finding[1:]}" if typed and finding else "")
    if not request.offers_missing:
        draw_learning(session, request)
    with page_section("induction-heads", "Where do the heads attend?"):
        heads_section(shown, views)
    folded_section("induction-ablation", "What is lost without one head?", lambda: ablation_section(shown, views))
    folded_section("moments", "At which step do the heads appear?", lambda: draw_now(moments_view, state, views))
    folded_section("real-model", "Does a real language model have such heads?", lambda: real_model_section(session))
    folded_section("why", "What does the second layer add?", formulas_section)
    code_and_papers("induction.code", FILES, PAPERS)


session = comparison_session("induction", InductionState)
page(session)
write_url(session)
