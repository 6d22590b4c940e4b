"""The short training of the home page: five networks learn to write sentences, and one line shows what is written."""

from __future__ import annotations

from dataclasses import replace

from explorer import charts, ui
from explorer.experiments.model_variant import released_variants
from explorer.experiments.text_setups import SETUPS
from explorer.training.config import RunConfig, with_settings
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.learning_chart import (
    SAVED,
    Views,
    describe_outcome,
    describe_state,
    earlier_views,
    live_training_section,
    seconds_to_next,
)

_MODELS = ("feedforward", "rnn", "lstm", "gru", "transformer")
_NAME = "home-race"  # of the section and of the files that are saved from it
_HEIGHT = 300  # pixels of the chart
_LOSS = ui.Metric("val_loss_part", "Loss on new sentences: lower is better", charts.Axis(span=(1.2, 3.5)), digits=None)
_draw_panels = ui.curve_panels([_LOSS], released_variants(_MODELS))


def race_configs(seeds: int = 1) -> dict[str, RunConfig]:
    """Return the training of each network on English sentences, by model; with three seeds the included one."""
    return {model: with_settings(SETUPS["english"].config(model), {"replicas": seeds}) for model in _MODELS}


def race_section() -> None:
    """Draw the loss of the networks, the latest text of the best one, and the Train button.

    The included trainings are shown until the visitor trains, with one seed, which takes a third of the time.
    """
    request, configs, visitor = ui.TrainRequest.for_section("home"), race_configs(), current_visitor().id
    request.earlier = race_configs(3)

    def draw(document: ui.Document) -> float | None:
        views = request.views(configs if request.train_count else request.earlier, visitor)
        race_view(document, views, earlier_views(request, views, visitor) if request.train_count else {})
        return seconds_to_next(views.values())

    live_training_section(_NAME, request, draw, _HEIGHT + 130)
    ui.show_problems(request.problems)
    ui.draw_train_controls(request, configs, keys=("home-train", "home-stop"), label="Train")


def race_view(document: ui.Document, views: Views, earlier: Views) -> None:
    """Write the chart, the text that the network with the lowest loss writes now, and the state of the training.

    earlier: the finished runs that are drawn pale behind those that are being trained; empty if these are complete
    """
    (panel,), before = _draw_panels(views), _draw_panels(earlier) if earlier else [None]
    document.figures(_NAME, [replace(panel, earlier=before[0])], height=_HEIGHT, narrow_height=220, columns=1)
    started = [(view, view.curves) for view in views.values() if view.curves and view.curves.samples]
    if started:
        best, curves = min(started, key=lambda each: float(each[1].metrics["val_loss_part"][-1, 0]))
        step = curves.evaluated[len(curves.samples) - 1]
        document.text(f"What the {best.row.title} writes at step {step} of {best.config.steps}:")
        document.code(curves.samples[-1][0].replace("\n", ". "))
    outcome = describe_outcome(views)
    if outcome != SAVED:  # the address of this page names no run
        document.text(outcome)
    seeds = next(iter(views.values())).config.replicas
    trainings = "One training" if seeds == 1 else f"Median and range of {ui.number_word(seeds)} trainings"
    state = ui.capitalize(describe_state(views))
    document.caption(f"{trainings} of each network: equal sizes, and a learning rate of its own. {state}.")
