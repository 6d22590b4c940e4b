"""The best accuracy that a linear readout of word counts can reach: as a formula, and for every P("not")."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.figures import linear_readout_ceiling
from explorer.labs.negation import findings
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.tasks.ceiling import cross_entropy_accuracy
from explorer.tasks.ceiling import linear_readout_ceiling as ceiling
from explorer.tasks.negation import Negation, NegationConfig
from explorer.ui.components.plot_frame import Panel, draw_plot_frame
from explorer.ui.state.widgets import setting_widget
from explorer.ui.training.run_view import RunView

_XOR = (
    "An odd number of “not”s flips the answer: the class is an exclusive or (XOR) of the two. Minsky and Papert "
    "(1969) proved that no weighted sum of its inputs with a threshold computes XOR. One hidden layer between the "
    "inputs and the sum is enough."
)


def ceiling_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw the best accuracy of a linear readout, and where cross-entropy leads."""
    config = session.experiment.task
    task = negation_task(config)
    best, cross_entropy = ceiling(task.sentences), cross_entropy_accuracy(task.sentences)
    final, hidden = _final_accuracies(views, "bag_of_words"), _final_accuracies(views, "bag_of_words_hidden")
    st.subheader(findings.ceiling_finding(best), anchor=False)
    left, right = st.columns([10, 12], gap="large")
    with left:
        if best < 1 - 1e-9:
            st.markdown(
                "A sum of word weights gives “not” one weight for every verb. If that weight moves *consume* and "
                "*destroy* to the other answer, it moves *preserve* too. Some sentence must stay wrong; the best a sum "
                "can do is to give up the rarest:"
            )
        st.latex(_formula(config, best))
        st.markdown(_formula_words(config))
        st.markdown(findings.cross_entropy_finding(best, cross_entropy, final))
        if best < 1 - 1e-9:
            st.markdown(_XOR)
        if hidden is not None:
            st.markdown(findings.beyond_sums_finding(best, hidden))
    with right:
        draw_plot_frame(
            [_ceiling_panel(config, best, cross_entropy, () if final is None else tuple(final.tolist()))],
            key="negation-ceiling",
            height=300,
            columns=1,
        )
        setting_widget(session, "p_not", "Probability of “not”", section="why")


def _final_accuracies(views: Mapping[str, RunView], model: str) -> Float[ndarray, " replicas"] | None:
    """Return the exact accuracy of every seed of a model; None without a finished run."""
    view = views.get(model)
    return view.result.last("exact_accuracy") if view and view.result else None


def _formula(task: NegationConfig, best: float) -> str:
    """Return the ceiling as a LaTeX formula with the numbers of this task."""
    p = task.p_not
    if task.max_nots == 1:
        return rf"1 - \tfrac{{1}}{{3}}\min(p, 1 - p) = 1 - \tfrac{{1}}{{3}}\cdot {min(p, 1 - p):.4g} = {best:.4f}"
    return (
        rf"\max_{{\pm}} \sum_{{\text{{verb}}}} \max_{{t}} P(\text{{verb}},\, k\ \text{{nots}}\colon\ "
        rf"[k \ge t]^{{\pm}} = \text{{truth}}) = {best:.4f}"
    )


def _formula_words(task: NegationConfig) -> str:
    """Return the explanation of the formula."""
    if task.max_nots == 1:
        return (
            f"“Not” stands in {100 * task.p_not:.3g} of 100 sentences and each verb in a third of them. The cheapest "
            f"to give up is one verb {'with' if task.p_not <= 0.5 else 'without'} its “not”."
        )
    return (
        "With its one weight, “not” can only push all verbs the same way. So each verb says *sustain* from some number "
        "of “not”s on (or up to some number), and each may choose its number t: the best is found by trying all."
    )


@lru_cache(maxsize=64)
def _accuracies_by_p_not(max_nots: int, held_out: str) -> tuple[list[float], list[float], list[float]]:
    """Return probabilities of "not", and for each the ceiling and the accuracy that cross-entropy leads to."""
    probabilities = [round(float(p), 4) for p in np.linspace(0.005, 0.995, 199)]
    tasks = [Negation(NegationConfig(p_not=p, max_nots=max_nots, held_out=held_out)).sentences for p in probabilities]  # type: ignore[arg-type]
    return probabilities, [ceiling(t) for t in tasks], [cross_entropy_accuracy(t) for t in tasks]


@lru_cache(maxsize=64)
def _ceiling_panel(task: NegationConfig, best: float, cross_entropy: float, final: tuple[float, ...]) -> Panel:
    """Return both accuracies over P(not), and the final accuracy of each seed of a bag of words."""
    probabilities, ceilings, cross_entropies = _accuracies_by_p_not(task.max_nots, task.held_out)
    return Panel(
        "ceiling",
        linear_readout_ceiling.ceiling_by_probability(
            probabilities, ceilings, cross_entropies, task.p_not, list(final)
        ),
        alt=f"Ceiling of a sum of word weights and where cross-entropy leads, over the probability of “not”: at "
        f"{task.p_not:g} they are {best:.4f} and {cross_entropy:.4f}.",
        title="Best possible and trained accuracy, by how often “not” occurs",
        caption="Lines: computed, not trained. Dots: the seeds of the bag of words on this page.",
    )
