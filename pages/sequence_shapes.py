"""Shapes of tasks: what goes in, what comes out, and what is said about the net between."""

from __future__ import annotations

from explorer.labs.sequence_shapes.claims import claims_section
from explorer.labs.sequence_shapes.shared_weight_gradient import gradient_section
from explorer.labs.sequence_shapes.state import SequenceShapesState
from explorer.labs.sequence_shapes.unrolled_rnn import unrolled_section
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import lead, page_head, show_problems
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    "Four shapes": "inspection/recurrent/unrolled.py",
    "The net that is unrolled": "models/recurrence.py",
    "One gradient, step by step": "inspection/recurrent/per_step_gradients.py",
    "What heads do": "inspection/attention/agreement_heads.py",
}
PAPERS = (
    (
        "Backpropagation through time",
        "Werbos 1990, Backpropagation through time: what it does and how to do it",
        "https://doi.org/10.1109/5.58337",
    ),
    (
        "Clipping",
        "Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks",
        "https://arxiv.org/abs/1211.5063",
    ),
    (
        "Agreement",
        "Linzen, Dupoux and Goldberg 2016, Assessing the ability of LSTMs to learn syntax-sensitive dependencies",
        "https://arxiv.org/abs/1611.01368",
    ),
    (
        "Heads that look at syntax",
        "Clark, Khandelwal, Levy and Manning 2019, What does BERT look at? An analysis of BERT’s attention",
        "https://arxiv.org/abs/1906.04341",
    ),
    (
        "Heads switched off",
        "Michel, Levy and Neubig 2019, Are sixteen heads really better than one?",
        "https://arxiv.org/abs/1905.10650",
    ),
)


def page(session: PageSession[SequenceShapesState]) -> None:
    """Draw the whole page."""
    page_head("One net, four shapes of tasks: what changes?")
    lead(
        "A recurrent net does the same at every step. What makes it a classifier, a tagger, a translator or a writer "
        "is only which of its inputs and answers are used."
    )
    show_problems(session.problems)
    unrolled_section(session)
    gradient_section(session)
    claims_section(session)
    code_and_papers("shapes.code", FILES, PAPERS)


session = page_session("shapes", SequenceShapesState)
page(session)
write_url(session)
