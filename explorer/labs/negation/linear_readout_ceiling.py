"""The best accuracy that a linear readout of word counts can reach: as a formula, and for every P("not")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.labs.negation import findings
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.tasks.ceiling import LinearReadout, cross_entropy_accuracy, fit_linear_readout
from explorer.tasks.ceiling import linear_readout_ceiling as ceiling
from explorer.tasks.negation import Negation, NegationConfig
from explorer.ui.state.widgets import setting_widget

_XOR = (
    "An odd number of “not”s flips the answer: the class is an exclusive or (XOR) of the two. Minsky and Papert "
    "(1969) proved that no weighted sum of its inputs with a threshold computes XOR. One hidden layer between the "
    "inputs and the sum is enough."
)


def ceiling_section(session: NegationSession, views: Mapping[str, ui.RunView]) -> None:
    """Draw the best accuracy of a linear readout, and where cross-entropy leads."""
    config = session.experiment.task
    if session.experiment.has_file:
        _file_ceiling(session, views)
        return
    sentences = Negation(config).grammar_sentences
    best, cross_entropy = ceiling(sentences), cross_entropy_accuracy(sentences)
    final, hidden = _final_accuracies(views, "bag_of_words"), _final_accuracies(views, "bag_of_words_hidden")
    ui.headline(findings.ceiling_finding(best))
    left, right = st.columns([10, 12], gap="large")
    with left:
        if best < 1 - 1e-9:
            st.markdown(
                "A sum of word weights gives “not” one weight for every verb. If that weight moves *consume* and "
                "*destroy* to the other answer, it moves *preserve* too. Some sentence must stay wrong; the best a sum "
                "can do is to give up the rarest:"
            )
        formula, meaning = _explain_ceiling(config, best)
        st.latex(formula)
        st.markdown(meaning)
        st.markdown(findings.cross_entropy_finding(cross_entropy, final))
        if best < 1 - 1e-9:
            st.markdown(_XOR)
        if hidden is not None:
            st.markdown(findings.beyond_sums_finding(best, hidden))
    with right:
        ui.draw_now(ceiling_view, config, best, cross_entropy, [] if final is None else final.tolist())
        setting_widget(session, "p_not", section="why")


def _file_ceiling(session: NegationSession, views: Mapping[str, ui.RunView]) -> None:
    """Draw whether a sum of word weights can get every training sentence of a file right."""
    data = session.data
    runs = [_final_accuracies(views, model) for model in ("bag_of_words", "bag_of_words_hidden")]
    ends = None if runs[0] is None or runs[1] is None else tuple(tuple(values.tolist()) for values in runs)  # type: ignore[union-attr]
    ui.show(
        "file-ceiling",
        ui.Call(_fit, data.config),
        file_ceiling_view,
        sum(sentence.train_probability > 0 for sentence in data.sentences),
        ends,
        waiting="A linear programme is solved for the training sentences …",
        height=220,
    )


def _fit(config: NegationConfig) -> LinearReadout | None:
    return fit_linear_readout(negation_task(config))


def file_ceiling_view(
    document: ui.Document, fitted: LinearReadout | None, sentences: int, ends: tuple[tuple[float, ...], ...] | None
) -> None:
    """Write whether a sum of word weights fits the training sentences.

    sentences: how many there are
    ends: the accuracies of the bag of words without and with a hidden layer, if both are trained
    """
    document.finding(findings.readout_finding(fitted, sentences))
    if fitted is not None:
        document.text(findings.readout_explanation(fitted))
    if ends is not None:
        document.text(findings.hidden_layer_finding(*map(np.array, ends)))
    document.caption(
        "A sum of word weights gives each word one weight for each class, wherever it stands. Whether such weights "
        "exist for all training sentences is a linear programme, which is solved exactly (HiGHS)."
    )


def _final_accuracies(views: Mapping[str, ui.RunView], model: str) -> Float[ndarray, " replicas"] | None:
    """Return the exact accuracy of every seed of a model; None without a finished run."""
    view = views.get(model)
    if view is None or view.result is None:
        return None
    return view.result.last("test_accuracy" if view.config.own_text else "exact_accuracy")


def _explain_ceiling(task: NegationConfig, best: float) -> tuple[str, str]:
    """Return the ceiling as a LaTeX formula with the numbers of this task, and what it means."""
    p = task.p_not
    if task.max_nots == 1:
        return (
            rf"1 - \tfrac{{1}}{{3}}\min(p, 1 - p) = 1 - \tfrac{{1}}{{3}}\cdot {min(p, 1 - p):.4g} = {best:.4f}",
            f"“Not” stands in {100 * p:.3g} of 100 sentences and each verb in a third of them. The cheapest to give up "
            f"is one verb {'with' if p <= 0.5 else 'without'} its “not”.",
        )
    return (
        r"\max_{\pm} \sum_{\text{verb}} \max_{t} P(\text{verb},\, k\ \text{nots}\colon\ "
        rf"[k \ge t]^{{\pm}} = \text{{truth}}) = {best:.4f}",
        "With its one weight, “not” can only push all verbs the same way. So each verb says *sustain* from some number "
        "of “not”s on (or up to some number), and each may choose its number t: the best is found by trying all.",
    )


@cached()
def _accuracies_by_p_not(max_nots: int, held_out: str) -> tuple[list[float], list[float], list[float]]:
    """Return probabilities of "not", and for each the ceiling and the accuracy that cross-entropy leads to."""
    probabilities = [round(float(p), 4) for p in np.linspace(0.005, 0.995, 199)]
    settings = NegationConfig(max_nots=max_nots, held_out=held_out)  # type: ignore[arg-type]
    tasks = [Negation(replace(settings, p_not=p)).grammar_sentences for p in probabilities]
    return probabilities, [ceiling(t) for t in tasks], [cross_entropy_accuracy(t) for t in tasks]


def ceiling_view(
    document: ui.Document, task: NegationConfig, best: float, cross_entropy: float, final: Sequence[float]
) -> None:
    """Write both accuracies by P(not), and the final accuracy of each seed of a bag of words.

    best, cross_entropy: the ceiling and the accuracy to which cross-entropy leads at the P(not) of this task
    """
    panel = ui.Panel(
        "ceiling",
        ceiling_chart(task, best, cross_entropy, final),
        title="Best possible and trained accuracy, by how often “not” occurs",
        caption="Lines: computed, not trained. Dots: the seeds of the bag of words on this page.",
    )
    document.figures("negation-ceiling", [panel], height=300, columns=1)


def ceiling_chart(task: NegationConfig, best: float, cross_entropy: float, final: Sequence[float]) -> charts.LineChart:
    """Return the ceiling of a sum of word weights and where its training leads, with the seeds of a bag of words."""
    x, ceilings, optima = map(np.array, _accuracies_by_p_not(task.max_nots, task.held_out))
    colour, named, led = "--m-counts", "ceiling of any sum of word weights", "trained: where cross-entropy leads"
    seeds = np.array(final, float)
    return charts.LineChart(
        "Accuracy by the probability of “not”",
        [
            charts.Line("ceiling", named, "--ink", "5px,4px", x, ceilings, width=1.5),
            charts.Line("trained", led, colour, "", x, optima),
            charts.Line(
                "", "bag of words, each seed", colour, "", np.full(len(seeds), task.p_not), seeds, "filled", 0.0
            ),
        ],
        charts.Axis("probability of “not”", (0, 1)),
        charts.Axis("exact accuracy", (min(0.5, float(optima.min()), *final) - 0.08, 1.06)),
        margin=78,
        digits=None,
        words="Ceiling of a sum of word weights and where cross-entropy leads, over the probability of “not”: at "
        f"{task.p_not:g} they are {best:.4f} and {cross_entropy:.4f}.",
    )
