"""Learning curves of the language models: held-out loss by step, token and second, and generated texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import unwrap
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import ModelRow, model_row
from explorer.inspection.compare import downsample, median_and_range
from explorer.labs.text.findings import Standing, compute_standing, convert_loss, overfitting_finding, unit_name
from explorer.labs.text.state import UNITS, Along, TextLab, Unit
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.learning_chart import Axis, live_training_section, seconds_to_next
from explorer.ui.wording import describe_line, join_words

CAPTION = (
    "Each text is sampled token by token after a line break (where that is no token, after the first token, such as "
    "“!”), with the same random numbers at every evaluation, by the first seed. The loss is that on "
    "held-out text, in nats per token."
)


def samples_data(rows: Sequence[tuple[ModelRow, Curves | None]], file: str, live: bool) -> dict[str, object]:
    """Return the texts of all models, a row each, as the browser shows them; see `text_samples/view.js`."""
    models = [_model_samples(row, curves) for row, curves in rows]
    return {"caption": CAPTION, "file": file, "live": live, "models": models}


def _model_samples(row: ModelRow, curves: Curves | None) -> dict[str, object]:
    """Return the texts of the first seed of a model at its evaluations, with the held-out losses there."""
    texts, losses = [], []
    if curves is not None and curves.metrics:
        whole, part = (curves.metrics[name][:, 0] for name in ("val_loss", "val_loss_part"))
        losses = [
            round(float(loss), 4) if math.isfinite(loss) else None for loss in np.where(np.isnan(whole), part, whole)
        ]
        texts = [texts[0] for texts in curves.samples][: len(losses)]
    return {
        "name": row.name,
        "title": row.title,
        "colour": row.colour,
        "steps": curves.evaluated[: len(texts)].tolist() if curves else [],
        "losses": losses[: len(texts)],
        "texts": texts,
        "counted": row.name == "ngram",  # nothing is trained step by step
    }


_AXIS_TITLES: dict[Along, str] = {
    "step": "training steps",
    "tokens": "training tokens read by one seed",
    "seconds": "seconds of training, all seeds together, on the computer that trained them",
}
_AXIS_UNITS: dict[Along, str] = {"step": "step", "tokens": "token", "seconds": "second"}
Runs: TypeAlias = tuple[tuple[RunConfig, Curves | None], ...]  # can be a cache key


def training_section(session: ExperimentSession[TextLab]) -> None:
    """Draw the Train button and the learning curves."""
    lab = session.experiment
    request = ui.TrainRequest.for_section(lab.TASK)
    ui.draw_train_controls(request, lab.configs, next_seed=session.next_seed_configs, keys=("train", "stop"))
    ui.draw_learning_chart(
        "text-race",
        request,
        lab.configs,
        lambda views: [loss_panel(lab, views)],
        partial(curves_caption, lab),
        run=f"{'.'.join(key(config) for config in lab.configs.values())}/{lab.along}",
        axis=partial(_axis, lab),
        height=380,
        narrow_height=300,
        columns=1,
    )


def model_curves_section(lab: TextLab, standings: Mapping[str, Standing]) -> None:
    """Draw training and held-out loss of every network, and which of them overfits."""
    if standings:
        headline, rest = overfitting_finding(standings)
        ui.headline(headline)
        ui.paragraph(rest)
    request, visitor_id = ui.TrainRequest.for_section(lab.TASK), current_visitor().id

    def draw(document: ui.Document) -> float | None:
        views = request.views(lab.configs, visitor_id)
        document.figures("text-each", model_panels(lab, views), height=190, narrow_height=170, columns=3)
        return seconds_to_next(views.values(), 1.5)

    live_training_section("text-each", request, draw, 480)
    ui.caption(
        "Thick: loss on a fixed part of the held-out text, so the last value differs a little from the results above. "
        "Thin: loss on a part of the training text. Where the two separate, the network predicts the training text "
        "better than new text."
    )


def samples_section(lab: TextLab) -> None:
    """Draw what every model generated at each evaluation."""
    request, visitor_id = ui.TrainRequest.for_section(lab.TASK), current_visitor().id

    def draw(document: ui.Document) -> float | None:
        views = request.views(lab.configs, visitor_id)
        live = any(view.live for view in views.values())
        rows = [(view.row, view.curves) for view in views.values()]
        document.component("text_samples", samples_data(rows, "text-samples", live), "text-samples")
        return seconds_to_next(views.values(), 1.5)

    live_training_section("text-samples", request, draw, 480)


def _networks(views: Mapping[str, ui.RunView]) -> Runs:
    return tuple((view.config, view.curves) for model, view in views.items() if model != "ngram")


def _unit(lab: TextLab, views: Mapping[str, ui.RunView]) -> tuple[Unit, float | None]:
    """Return the unit of the losses and the characters per token; bits need to know these."""
    characters = characters_per_token(views, lab.task)
    return "loss" if lab.unit == "bits" and characters is None else lab.unit, characters


def characters_per_token(views: Mapping[str, ui.RunView], task: TextConfig) -> float | None:
    """Return characters per token of the held-out text, from a run that measured it; None without such a run."""
    if task.tokenizer == "char":
        return 1.0
    for view in views.values():
        if view.result and len(view.result.evaluated):
            loss, bits = (float(view.result.last(name)[0]) for name in ("val_loss", "bits_per_char"))
            if bits > 0 and math.isfinite(loss):
                return loss / math.log(2) / bits
    return None


# ---- held-out loss of all models


def loss_panel(lab: TextLab, views: Mapping[str, ui.RunView]) -> ui.Panel:
    """Return the held-out loss of every model on one axis, with levels of the n-gram and of a larger Transformer."""
    unit, characters = _unit(lab, views)
    ngram = views.get("ngram")
    references: list[tuple[str, RunConfig, Curves]] = []
    if ngram and ngram.curves and len(ngram.curves.evaluated):
        references.append((f"{getattr(ngram.config.model, 'n', 0)}-gram", ngram.config, ngram.curves))
    if lab.larger_model and (larger := store.find_by_config(lab.larger_model)):
        references.append(("larger Transformer", larger.config, larger.curves))
    _, end = _reached_and_end(_networks(views), lab.along)
    draw = unwrap(_draw_loss_panel) if lab.task.corpus == "own" else _draw_loss_panel  # a cache outlives the visit
    return draw(_networks(views), tuple(references), lab.along, unit, characters, lab.task.tokenizer, max(end, 1.0))


@cached()
def _draw_loss_panel(
    runs: Runs,
    references: tuple[tuple[str, RunConfig, Curves], ...],
    along: Along,
    unit: Unit,
    characters: float | None,
    tokenizer: str,
    end: float,
) -> ui.Panel:
    """Return the panel of all models; `end` is that of the x axis. The references have a level: their last loss."""
    lines, rules = [loss_line(curves, config, along, unit, characters) for config, curves in runs], []
    for name, config, curves in references:
        value = float(np.median(convert_loss(_held_out_loss(curves)[-1], unit, characters)))
        rules.append(charts.level(value, f"{name} {value:.3f}", model_row(config.model).colour))
    title = f"Held-out {'loss, ' * (unit != 'perplexity')}{unit_name(unit, tokenizer)} (logarithmic scale)"
    span = charts.span_of([*(line.values for line in lines), [rule.at for rule in rules]], 0.12, log=True)
    chart = charts.LineChart(
        f"{title}, {_AXIS_TITLES[along]}",
        lines,
        charts.Axis(_AXIS_TITLES[along], (0.0, end)),
        charts.Axis(span=span, log=True),
        rules,
        digits=3,
    )
    return ui.Panel(f"held-out-{unit}-{along}", chart, title=title)


def loss_line(
    curves: Curves | None, config: RunConfig, along: Along, unit: Unit, characters: float | None
) -> charts.Line:
    """Return the loss of a model on held-out text."""
    x, spread = np.zeros(0), np.zeros((0, 3))
    if curves is not None and len(curves.evaluated):
        values = convert_loss(_held_out_loss(curves), unit, characters)
        spread = median_and_range(np.where(np.isfinite(values), values, np.nan))
        kept = downsample(spread)
        x, spread = _positions(curves, along)[kept], spread[kept]
    row = model_row(config.model)
    return charts.Line(row.title, row.title, row.colour, row.dash, x, spread)


def _positions(curves: Curves, along: Along) -> Float[ndarray, " evaluations"]:
    x = curves.axis_values(along, curves.evaluated, 0)
    return x - x[0] if along == "seconds" else x


def _held_out_loss(curves: Curves) -> Float[ndarray, "evaluations replicas"]:
    """Return the loss on all held-out text where that was evaluated, elsewhere on a fixed part of it."""
    whole: ndarray = curves.metrics["val_loss"]
    return np.where(np.isfinite(whole).all(axis=1, keepdims=True), whole, curves.metrics["val_loss_part"])


def _reached_and_end(runs: Runs, along: Along) -> tuple[float, float]:
    """Return how far the longest curve reaches along the axis of the chart, and where the axis ends."""
    reached = [float(_positions(curves, along)[-1]) for _, curves in runs if curves and len(curves.evaluated)]
    if along == "step":
        return max(reached, default=0.0), float(max((config.steps for config, _ in runs), default=1))
    return max(reached, default=0.0), max(reached, default=1.0) * 1.02


def _axis(lab: TextLab, views: Mapping[str, ui.RunView]) -> Axis:
    reached, end = _reached_and_end(_networks(views), lab.along)
    return Axis(_AXIS_UNITS[lab.along], round(end) or 1, round(reached))


# ---- training and held-out loss of each model


def model_panels(lab: TextLab, views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    """Return a panel for each model with training and held-out loss, and one with all gradient norms."""
    unit, characters = _unit(lab, views)
    waiting = tuple(model_row(view.config.model).name for view in views.values() if view.live)
    draw = unwrap(_draw_model_panels) if lab.task.corpus == "own" else _draw_model_panels
    return list(draw(_networks(views), waiting, unit, characters))


@cached()
def _draw_model_panels(runs: Runs, live: Sequence[str], unit: Unit, characters: float | None) -> tuple[ui.Panel, ...]:
    """Return the panels of the models and of the gradient norms; `live`: names of models that train or wait."""
    losses = [_both_losses(curves, unit, characters) for _, curves in runs]
    low, high = charts.span_of([values for both in losses for values in both], 0.0)
    y = charts.Axis(span=(0.93 * low, max(1.02 * min(high, 2 * low or high), 1.1 * low, 1e-3)), ticks=4)
    x = charts.Axis("step", (0, max((config.steps for config, _ in runs), default=1)), ticks=4)
    panels = [
        _model_panel(config, curves, both, unit, config.model_name in live, x, y)
        for (config, curves), both in zip(runs, losses, strict=True)
    ]
    recorded = [(config, curves) for config, curves in runs if curves and len(curves.signals.get("gradient_norm", ()))]
    if recorded:
        lines = [_gradient_line(config, curves) for config, curves in recorded]
        chart = charts.LineChart("Gradient norm by step", lines, x, charts.Axis(log=True), labels="none", digits=None)
        caption = "Before clipping; median over the seeds."
        panels.append(ui.Panel("gradient-norm", chart, title="Gradient norm", caption=caption))
    return tuple(panels)


def _both_losses(curves: Curves | None, unit: Unit, characters: float | None) -> list[Float[ndarray, " evaluations"]]:
    """Return the medians of the loss on held-out and on training text."""
    if curves is None or not len(curves.evaluated):
        return [np.zeros(0), np.zeros(0)]
    names = ("val_loss_part", "train_loss")
    return [median_and_range(convert_loss(curves.metrics[name], unit, characters))[:, 0] for name in names]


def _model_panel(
    config: RunConfig,
    curves: Curves | None,
    losses: Sequence[Float[ndarray, " evaluations"]],
    unit: Unit,
    live: bool,
    x: charts.Axis,
    y: charts.Axis,
) -> ui.Panel:
    row, value, rules, steps = model_row(config.model), "–", [], np.zeros(0)
    caption = "waiting in the queue" if live else "not trained yet"
    if curves is not None and len(curves.evaluated):
        steps, value = curves.evaluated.astype(float), f"{losses[0][-1]:.3f}"
        caption = f"step {curves.step:,} of {config.steps:,}"
        standing = compute_standing(curves, config)
        if standing and curves.step == config.steps:
            rules = [charts.selection(standing.best_step)]
            caption += f"; lowest at {standing.best_step:,}"
    lines = [
        charts.Line(name, f"{name} text", row.colour, "", steps, values, width=width)
        for name, values, width in zip(("held-out", "training"), losses, (3.0, 1.5), strict=True)
    ]
    chart = charts.LineChart(f"{row.title}: {UNITS[unit]} by step", lines, x, y, rules, labels="none", digits=3)
    return ui.Panel(
        f"{row.name}-losses",
        chart,
        title=row.title,
        colour=row.colour,
        value=value,
        caption=caption,
        reads_in_title=len(steps) > 0,
    )


def _gradient_line(config: RunConfig, curves: Curves) -> charts.Line:
    """Return the median gradient norm of the seeds in about a hundred bins."""
    norms, row = median_and_range(curves.signals["gradient_norm"])[:, 0], model_row(config.model)
    long = max(1, len(norms) // 100)
    binned = np.nanmean(norms[: len(norms) // long * long].reshape(-1, long), axis=1)
    x = (np.arange(len(binned)) + 0.5) * long + curves.first
    return charts.Line(row.title, row.title, row.colour, row.dash, x, binned, width=2.0)


def curves_caption(lab: TextLab, views: Mapping[str, ui.RunView]) -> str:
    """Return how the curves were measured."""
    many = lab.value("replicas")
    band = f"{describe_line(many)} "
    contexts = {loss_context(view.config) for view in views.values()}  # the page explains several of them above
    titles: dict[str, list[str]] = {}
    for view in views.values():
        titles.setdefault(loss_context(view.config, brief=len(contexts) > 1), []).append(view.row.title)
    parts = [f"{context} ({join_words(names)})" if len(titles) > 1 else context for context, names in titles.items()]
    context = f"Context of the losses: {'; '.join(parts)}. "
    size = max(view.config.evaluation_size for view in views.values())
    part = f"Evaluated on at most {size:,} tokens of the held-out text, at the end on all of it. " if size else ""
    return f"{band}{context}{part}{_bits_note(lab, views)}".strip()


def _bits_note(lab: TextLab, views: Mapping[str, ui.RunView]) -> str:
    """Return what the unit of the curves leaves out if it is bits a character, or why it is not shown."""
    if lab.unit != "bits":
        return ""
    if characters_per_token(views, lab.task) is None:
        return "Bits per character are shown after the first finished run. "
    if lab.task.tokenizer in ("char", "bytes"):
        return ""
    return "Bits per character do not count unknown words and dropped spaces; bits per byte in the table below do. "
