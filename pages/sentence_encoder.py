"""The sentence encoder: how does a word get its meaning from its sentence?"""

from __future__ import annotations

from functools import partial

from explorer.labs.sentence_encoder.encoder import (
    accuracy_section,
    controls,
    curves_section,
    formulas_section,
    training_section,
)
from explorer.labs.sentence_encoder.real_encoder import real_senses_section
from explorer.labs.sentence_encoder.sense_map import map_section
from explorer.labs.sentence_encoder.state import SentenceEncoderState, parse_sentences
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_train_controls, draw_train_offer


def page(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the whole page."""
    lead(
        "“Bank” has two senses, money and river. **Drag the layer to 0 and back**: each point is the word in one "
        "sentence, as a Transformer represents it."
    )
    show_problems(session.problems)
    request = TrainRequest.for_section(f"sentences-{session.state.task}")
    shown = request.session_with_results(session)
    state, views = shown.state, request.views(shown.state.configs)
    show_problems(request.problems)
    draw_train_offer(request, session.state, lambda: training_section(session.state, request))
    draw_earlier_note(request)
    with page_section("map", "One word in many sentences", heading=False):
        map_section(shown, views, parse_sentences(state.lines))
    with page_section("layers", "Similarity by layer"):
        controls(session)
        curves_section(state, views)
    folded_section(
        "accuracy",
        "Is the difference real, and how often is the sense right?",
        partial(accuracy_section, state, views),
    )
    if not request.offers_missing:
        folded_section("training", "How do the encoders learn?", partial(_training, session.state, request))
    folded_section(
        "real-senses", "Does a real encoder separate the senses of a word?", partial(real_senses_section, session)
    )
    folded_section("formulas", "What does a block compute?", partial(formulas_section, state))
    code_and_papers("sentences.code", state.configs.values(), [paper_of(next(iter(views.values())).row)])


def _training(state: SentenceEncoderState, request: TrainRequest) -> None:
    draw_train_controls(request, state.configs, keys=("sentences.run", "sentences.stop"))
    training_section(state, request)


session = comparison_session("sentences", SentenceEncoderState)
page(session)
write_url(session)
