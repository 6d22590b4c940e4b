"""Gates: one LSTM and one GRU cell whose gates the visitor sets."""

from __future__ import annotations

from functools import partial

from explorer.catalogue import MODELS
from explorer.labs.gates import cells
from explorer.labs.gates.cells import formulas_section, trained_nets_section
from explorer.labs.gates.state import GatesState
from explorer.ui.code_and_papers import BENGIO_1994, GERS_2000, code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    "LSTM": "models/lstm.py",
    "GRU": "models/gru.py",
    "Plain RNN": "models/rnn.py",
    "The computation on this page": "labs/gates/components/gates_by_hand/math.js",
}
PAPERS = (
    (
        "Constant error carousel",
        "Hochreiter and Schmidhuber 1997, Long short-term memory",
        "https://doi.org/10.1162/neco.1997.9.8.1735",
    ),
    ("Forget gate", *GERS_2000),
    (
        "Forget bias 1",
        "Jozefowicz, Zaremba and Sutskever 2015, An empirical exploration of recurrent network architectures",
        "https://proceedings.mlr.press/v37/jozefowicz15.html",
    ),
    (
        "Counting",
        "Weiss, Goldberg and Yahav 2018, On the practical computational power of finite precision RNNs for language "
        "recognition",
        "https://arxiv.org/abs/1805.04908",
    ),
    ("Storing a bit in a plain RNN", *BENGIO_1994),
)


def page(session: PageSession[GatesState]) -> None:
    """Draw the whole page."""
    lead("Drag the forget gate f from 0.90 to 0.99: how much of step 1 is left after 50 steps, and how much in an RNN?")
    show_problems(session.problems)
    cells.draw_component(session.state)
    with page_section("observations", "What to notice"):
        explanation(
            "- The gradient grows by the same factor as what is left: a cell can learn from the steps that it still "
            "remembers.\n"
            "- The GRU keeps and writes with one gate: with z = 0.90, a tenth of the candidate enters at every step. "
            "The LSTM keeps and writes with two separate gates, so its cell can count: try “A counter”.\n"
            "- Set w of the plain RNN above 1: it keeps one bit by saturating its tanh, so its gradient vanishes.\n"
            "- Give u a value: the candidate then reads the state too, and the dashed line is the whole derivative."
        )
    folded_section(
        "formulas", "Why is the gradient a product of gate values?", partial(formulas_section, session.state)
    )
    folded_section("trained", "Which gates do trained networks need?", trained_nets_section)
    code_and_papers("cell.code", FILES, [*PAPERS, paper_of(MODELS["gru"])])


session = page_session("cell", GatesState)
session.state = cells.apply_pending_event(session.state)
page(session)
write_url(session)
