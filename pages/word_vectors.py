"""Word vectors: can a model learn what words mean from their neighbours alone?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.word_vectors.limits import failures_section, frequency_section
from explorer.labs.word_vectors.models import controls, training_section
from explorer.labs.word_vectors.questions import analogy_section, map_section, neighbours_section
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_train_controls, draw_train_offer

PAPERS = (
    (
        "Analogies",
        "Mikolov, Yih and Zweig 2013, Linguistic regularities in continuous space word representations",
        "https://aclanthology.org/N13-1090",
    ),
    (
        "What is learned",
        "Levy and Goldberg 2014, Neural word embedding as implicit matrix factorization",
        "https://papers.nips.cc/paper/5477-neural-word-embedding-as-implicit-matrix-factorization",
    ),
    (
        "The question words are excluded",
        "Linzen 2016, Issues in evaluating semantic spaces using word analogies",
        "https://aclanthology.org/W16-2503",
    ),
    (
        "Associations",
        "Caliskan, Bryson and Narayanan 2017, Semantics derived automatically from language corpora contain human-like "
        "biases",
        "https://doi.org/10.1126/science.aal4230",
    ),
)


def training(state: WordVectorsState, request: TrainRequest) -> None:
    """Draw the loss with the settings of the page, and the training curves."""
    task = next(iter(state.configs.values())).task
    explanation(
        f"Every word has two vectors: v as input, u as output. Skip-gram takes a word w, a neighbour c at most "
        f"{getattr(task, 'window', 5)} words away, and {getattr(task, 'negatives', 5)} random noise words n, and "
        "minimizes"
    )
    st.latex(r"-\log\sigma(u_c \cdot v_w) \; - \sum_{i} \log\sigma(-u_{n_i} \cdot v_w)")
    explanation(
        "CBOW predicts the word from the mean of the vectors of its neighbours. Words with the same neighbours are "
        "trained on the same pairs, so their vectors become similar. Noise words are drawn in proportion to count to "
        "the power 0.75, and frequent words are skipped at random."
    )
    draw_train_controls(request, state.configs, keys=("words.run", "words.stop"))
    training_section(state, request)


def page(session: PageSession[WordVectorsState]) -> None:
    """Draw the whole page."""
    lead("Type a word. Word2vec (2013) has learned one vector for every word from the words beside it.")
    figure = st.container()  # above the settings, which decide what it shows
    controls(session)
    request = TrainRequest.for_section("word_vectors")
    shown = request.session_with_results(session)
    state, views = shown.state, request.views(shown.state.configs)
    with figure:
        bind_widget(session, "word", st.text_input, shown=session.state.examples[0], width=260)
        show_problems((*session.problems, *request.problems))
        draw_train_offer(request, session.state, lambda: training_section(session.state, request))
        draw_earlier_note(request)
        left, right = st.columns([2, 3], gap="large")
        with left, page_section("neighbours", "Neighbours of a word", heading=False):
            neighbours_section(shown, views)
        with right, page_section("map", "Words on a map", heading=False):
            map_section(shown, views)
    with page_section("analogies", "Analogies: a is to b as c is to …"):
        analogy_section(shown, views)
    if not request.offers_missing:
        folded_section("training", "How are the vectors trained?", partial(training, session.state, request))
    folded_section("frequency", "Are the neighbours of rare words reliable?", partial(frequency_section, state, views))
    folded_section("failures", "Where do word vectors fail?", partial(failures_section, state, views))
    code_and_papers(
        "words.code", state.configs.values(), [*(paper_of(MODELS[name]) for name in ("skip_gram", "cbow")), *PAPERS]
    )


visitor_text.remember_text()
session = comparison_session("words", WordVectorsState)
page(session)
write_url(session)
