"""Shapes of tasks: one recurrent network with one or many inputs and outputs."""

from __future__ import annotations

from functools import partial

from explorer.labs.sequence_shapes.claims import clipping_section, heads_section, position_section
from explorer.labs.sequence_shapes.shared_weight_gradient import gradient_section
from explorer.labs.sequence_shapes.state import SequenceShapesState
from explorer.labs.sequence_shapes.unrolled_rnn import unrolled_section
from explorer.ui.code_and_papers import LINZEN_2016, MICHEL_2019, PASCANU_2013, code_and_papers
from explorer.ui.page_sections import lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    "Four shapes": "inspection/recurrent/unrolled.py",
    "The unrolled network": "models/recurrence.py",
    "The gradient of each step": "inspection/recurrent/per_step_gradients.py",
    "Measuring heads": "inspection/attention/agreement_heads.py",
}
PAPERS = (
    (
        "Backpropagation through time",
        "Werbos 1990, Backpropagation through time: what it does and how to do it",
        "https://doi.org/10.1109/5.58337",
    ),
    ("Gradient clipping", *PASCANU_2013),
    ("Agreement", *LINZEN_2016),
    (
        "Heads that attend to syntax",
        "Clark, Khandelwal, Levy and Manning 2019, What does BERT look at? An analysis of BERT’s attention",
        "https://arxiv.org/abs/1906.04341",
    ),
    ("Ablated heads", *MICHEL_2019),
)


def page(session: PageSession[SequenceShapesState]) -> None:
    """Draw the whole page."""
    lead("Change the shape: the network does the same at every step, and the task decides which outputs count.")
    show_problems(session.problems)
    with page_section("net", "The unrolled network", heading=False):
        unrolled_section(session)
    folded_section(
        "shapes-sum",
        "How much of the gradient comes from the last steps?",
        partial(gradient_section, session),
    )
    folded_section("shapes-clipping", "Does gradient clipping cure vanishing gradients?", clipping_section)
    folded_section("shapes-place", "Can shared weights learn a rule that depends on the position?", position_section)
    folded_section(
        "shapes-heads",
        "Does one attention head follow agreement, and another one coreference?",
        partial(heads_section, session),
    )
    code_and_papers("shapes.code", FILES, PAPERS)


session = page_session("shapes", SequenceShapesState)
page(session)
write_url(session)
