"""The training curves of word vectors."""

from __future__ import annotations

from explorer import charts, ui
from explorer.labs.word_vectors.state import WordVectorsState

_METRICS = [
    ui.Metric("loss", "Loss (nats)", charts.Axis(span=(0.0, 1.0)), headroom=1.05),
    ui.Metric("analogy_accuracy", "Analogies answered correctly"),
    ui.Metric("neighbour_purity", "Neighbours of the same kind"),  # the grammar says which are
]


def training_section(state: WordVectorsState, request: ui.TrainRequest) -> None:
    """Draw loss, analogy accuracy and, for the grammar, the kinds of neighbours by step."""
    planted = state.read_corpus == "grammar"
    metrics = _METRICS if planted else _METRICS[:2]
    analogies = (
        "Analogies: all planted questions; the words of the question cannot be answers. Neighbours: the share of a "
        "word’s five nearest words that the grammar uses in the same sentences."
        if planted
        else "Analogies: questions about pairs such as king and queen, if the text has at least two of them."
    )
    ui.draw_learning_chart(
        "words-training",
        request,
        state.configs,
        ui.curve_panels(metrics, state.variants),
        "Loss: distinguishing true neighbours from noise words in the training text; the losses of skip-gram and CBOW "
        f"cannot be compared. {analogies} Line: median over seeds; band: lowest to highest.",
        run=f"words-{state.read_corpus}",
        height=260,
        narrow_height=210,
        columns=len(metrics),
    )
