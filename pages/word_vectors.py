"""Word vectors: can a model learn what words mean from their neighbours alone?"""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.word_vectors.limits import failures_section, frequency_section
from explorer.labs.word_vectors.models import controls
from explorer.labs.word_vectors.questions import analogy_section, neighbours_section
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.labs.word_vectors.training import training_section
from explorer.labs.word_vectors.word_map import map_section
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs, draw_train_controls
from explorer.ui.wording import join_words

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


def formulas_section(state: WordVectorsState) -> None:
    """Draw the loss with the settings of the page."""
    st.header("Why", anchor=False)
    task = next(iter(state.configs.values())).task
    explanation(
        f"Every word has two vectors: v as input, u as output. Skip-gram takes a word w and one of its neighbours c, "
        f"at most {getattr(task, 'window', 5)} words away, and {getattr(task, 'negatives', 5)} noise words n, and "
        "lowers"
    )
    st.latex(r"-\log\sigma(u_c \cdot v_w) \; - \sum_{i} \log\sigma(-u_{n_i} \cdot v_w)")
    explanation(
        "CBOW does the same with the mean of the vectors of the neighbours in place of the vector of one word, and "
        "predicts the word between them. Words with the same neighbours are trained on the same pairs, so their "
        "vectors become similar. Noise words are drawn in proportion to count to the power 0.75, and frequent words "
        "are skipped at random."
    )


def page(session: PageSession[WordVectorsState]) -> None:
    """Draw the whole page."""
    page_head("Can a model learn what words mean from their neighbours alone?")
    lead(
        "Word2vec (2013) gives every word one vector, trained to tell the words beside it from random ones. Ask for "
        "the neighbours of a word."
    )
    controls(session)
    show_problems(session.problems)
    state, request = session.state, TrainRequest.for_section("word_vectors")
    views = request.views(state.configs)
    show_problems(request.problems)
    words = {name: each.words for name, each in state.variants.items()}
    draw_missing_runs(request, state.configs, lambda names: join_words([words[name] for name in names]))
    left, right = st.columns(2, gap="large")
    with left:
        neighbours_section(session, views)
    with right:
        analogy_section(session, views)
    map_section(session, views)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        draw_train_controls(request, state.configs, keys=("words.run", "words.stop"))
    training_section(state, request)
    frequency_section(state, views)
    failures_section(state, views)
    formulas_section(state)
    code_and_papers(
        "words.code", state.configs.values(), [*(paper_of(MODELS[name]) for name in ("skip_gram", "cbow")), *PAPERS]
    )


visitor_text.remember_text()
session = comparison_session("words", WordVectorsState)
page(session)
write_url(session)
