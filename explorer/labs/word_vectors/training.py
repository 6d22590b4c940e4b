"""The training curves of word vectors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from explorer.byte_cache import cached
from explorer.figures.comparison import comparison_figure
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest
from explorer.ui.training.variant_charts import VariantCurves, curves_of_variants, highest_value, metric_lines
from explorer.ui.wording import join_words

_METRICS = {  # title, and how the axis ends
    "loss": "Loss (nats)",
    "analogy_accuracy": "Analogies answered correctly",
    "neighbour_purity": "Neighbours of the same kind",
}


def training_section(state: WordVectorsState, request: TrainRequest) -> None:
    """Draw loss, analogy accuracy and, for the grammar, the kinds of neighbours by step."""
    planted = state.read_corpus == "grammar"
    metrics = tuple(_METRICS) if planted else ("loss", "analogy_accuracy")
    analogies = (
        "Analogies: all planted questions; the words of the question cannot be answers. Neighbours: the share of a "
        "word’s five nearest words that the grammar uses in the same sentences."
        if planted
        else "Analogies: questions about pairs such as king and queen, if the text has at least two of them."
    )
    draw_learning_chart(
        "words-training",
        request,
        state.configs,
        partial(_panels, state, metrics),
        "Loss: distinguishing true neighbours from noise words in the training text; the losses of skip-gram and CBOW "
        f"cannot be compared. {analogies} Line: median over seeds; band: lowest to highest.",
        run=f"words-{state.read_corpus}",
        height=260,
        narrow_height=210,
        columns=len(metrics),
    )


def _panels(state: WordVectorsState, metrics: tuple[str, ...], views: Mapping[str, RunView]) -> list[Panel]:
    curves = curves_of_variants(state.variants, views)
    return [_panel(metric, curves, last_step(views)) for metric in metrics]


@cached()
def _panel(metric: str, curves_by_variant: VariantCurves, last: int) -> Panel:
    lines = metric_lines(curves_by_variant, metric, "median")
    top = 1.04 if metric != "loss" else max(1.0, 1.05 * highest_value(lines))
    return Panel(
        f"learning-{metric}",
        comparison_figure(lines, "step", (0.0, top), x_end=float(last), right_margin=90),
        alt=f"{_METRICS[metric]} by step: {join_words([variant.words for variant, _ in curves_by_variant])}.",
        title=_METRICS[metric],
        tracks=value_tracks([(line.label, line.colour) for line in lines]),
    )
