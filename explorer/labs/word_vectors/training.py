"""The training curves of word vectors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import comparison_figure, variant_line
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.labs.word_vectors.state import WordVectorsState
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest
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
    curves = tuple((state.variants[name], view.curves) for name, view in views.items())
    return [_panel(metric, curves, last_step(views)) for metric in metrics]


@cached()
def _panel(metric: str, curves_by_variant: tuple[tuple[ModelVariant, Curves | None], ...], last: int) -> Panel:
    lines = [
        variant_line(variant, *metric_over_seeds(curves, metric, median_and_range), statistic="median")
        for variant, curves in curves_by_variant
    ]
    highest = max((float(np.nanmax(line.high, initial=0.0)) for line in lines), default=0.0)
    top = 1.04 if metric != "loss" else max(1.0, 1.05 * highest)
    return Panel(
        f"learning-{metric}",
        comparison_figure(lines, "step", (0.0, top), x_end=float(last), right_margin=90),
        alt=f"{_METRICS[metric]} by step: {join_words([variant.words for variant, _ in curves_by_variant])}.",
        title=_METRICS[metric],
        tracks=value_tracks([(line.label, line.colour) for line in lines]),
    )
