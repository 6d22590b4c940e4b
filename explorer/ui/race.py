"""The race of the negation lab: training started, followed, shown, and its results in tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures.race import HIGH, LOW, MEAN, learning_curve
from explorer.tasks.ceiling import ceiling, cross_entropy_accuracy
from explorer.tasks.negation import CLASSES, Negation, NegationConfig
from explorer.training.config import key
from explorer.training.jobs import service
from explorer.ui import runs
from explorer.ui.components import Panel, Playback, frame, table
from explorer.ui.findings import Verdict, duration, number, seeds
from explorer.ui.lab import own_settings
from explorer.ui.runs import Lane, expected_seconds
from explorer.ui.session import LabSession

_LABELS = {
    "width": "Width of the embeddings",
    "hidden": "Hidden units",
    "window": "Window, in tokens",
    "heads": "Heads",
    "layers": "Layers",
    "start": "Start of the embeddings (standard deviation)",
    "epochs": "Epochs",
    "learning_rate": "Learning rate",
}
OWN_LABELS = {model: {name: _LABELS[name] for name in own_settings(model)} for model in MODELS}


def start(session: LabSession) -> None:
    """Train what is on the screen; what runs already is joined."""
    configs = session.lab.configs.values()
    session.raced = {service.submit(config).view().key for config in configs}
    session.races += 1


def stop(session: LabSession) -> None:
    """End the trainings of this race; they keep what they had."""
    for run in session.raced:
        if job := service.find(run):
            job.stop()


def train_button(session: LabSession) -> None:
    """Train, or while it runs, Stop, in the same place."""
    if any(lane.live for lane in runs.lanes(session.lab.configs, session.raced).values()):
        st.button("Stop", icon=":material/stop:", on_click=stop, args=(session,), key="stop", width=150)
    else:
        again = all(lane.stored for lane in runs.lanes(session.lab.configs).values())
        label = "Train again" if again else "Train"
        st.button(label, icon=":material/play_arrow:", on_click=start, args=(session,), key="train", width=150)


def call_to_train(session: LabSession, lanes: Mapping[str, Lane]) -> None:
    """Where models have no run under these settings, say so above all and offer to train."""
    missing = [lane for lane in lanes.values() if not lane.stored]
    if not missing or any(lane.live for lane in lanes.values()):
        return
    who = "any model" if len(missing) == len(lanes) else " and ".join(lane.row.title for lane in missing)
    seconds = expected_seconds(lane.config for lane in lanes.values())
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(
            f"No run of {who} with these settings yet. Training {seeds(missing[0].config.replicas)} of "
            f"{number(len(lanes))} model{'s' if len(lanes) > 1 else ''} takes about {duration(max(seconds, 0.5))}."
        )
        st.button("Train", icon=":material/play_arrow:", on_click=start, args=(session,), key="train-missing")


def live_panel(session: LabSession) -> None:
    """The curves; while a training runs they are fetched twice a second, and once more when it ends."""
    live = any(lane.live for lane in runs.lanes(session.lab.configs, session.raced).values())

    @st.fragment(run_every=0.5 if live else None)
    def panel() -> None:
        lanes = runs.lanes(session.lab.configs, session.raced)
        _draw(session, lanes)
        if live and not any(lane.live for lane in lanes.values()):
            st.rerun()

    panel()


def _draw(session: LabSession, lanes: Mapping[str, Lane]) -> None:
    lab = session.lab
    world = Negation(lab.task)
    best = ceiling(world.sentences)
    last_epoch = max(lane.config.epochs for lane in lanes.values())
    accuracy = lab.metric == "accuracy"
    metric = "test_accuracy" if accuracy else "train_loss"
    known = {model: lane.curves.metrics[metric] for model, lane in lanes.items() if lane.curves}
    span = _span(list(known.values()), accuracy)
    panels = []
    for i, (model, lane) in enumerate(lanes.items()):
        values = known.get(model, np.zeros((0, lane.config.replicas)))
        epochs = lane.curves.epochs if lane.curves else np.zeros(0, int)
        figure = learning_curve(
            epochs,
            values,
            lane.row.title,
            lane.row.colour,
            lane.row.dash,
            last_epoch,
            span,
            (best, "ceiling of counting" if i == 0 else "") if accuracy else None,
        )
        end = f"{values[-1].mean():.3f}" if len(values) else "–"
        panels.append(
            Panel(
                f"{model}-{metric}",
                figure,
                alt=f"{lane.row.title}: {lab.metric} over epochs, at the end {end} on average.",
                title=lane.row.title,
                colour=lane.row.colour,
                value=end,
                track=(MEAN, LOW, HIGH),
            )
        )
    frame(panels, key="negation-race", height=220, narrow_height=160, playback=_playback(session, lanes, last_epoch))
    what = (
        f"{lab.task.test_size:,} test sentences a seed. Dashed: the best any counting model can do on endless text, "
        f"{best:.4f}; a sampled test set may land above it by luck."
        if accuracy
        else "Cross-entropy over all training sentences, in nats."
    )
    many = lab.value("replicas") > 1
    band = (
        f"Line: mean of {seeds(lab.value('replicas'))}. Band: lowest to highest seed. " if many else "Line: one seed. "
    )
    st.caption(f"{_outcome(lanes)} {band}{what}")


def _playback(session: LabSession, lanes: Mapping[str, Lane], last_epoch: int) -> Playback:
    live = any(lane.live for lane in lanes.values())
    took = sum(lane.seconds or 0.0 for lane in lanes.values())
    # Models have different numbers of epochs: what is there is as far as the slowest that still runs.
    reached = [int(lane.curves.epochs[-1]) if lane.curves is not None else 0 for lane in lanes.values() if lane.live]
    stopped = [int(lane.curves.epochs[-1]) for lane in lanes.values() if lane.curves is not None]
    available = min(reached) if live and reached else max(stopped, default=0)
    return Playback(
        run=f"{'.'.join(key(lane.config) for lane in lanes.values())}/{session.races}",
        end=last_epoch,
        available=available,
        live=live,
        say=_progress(lanes) if live else f"trained in {duration(took)}" if stopped else "not trained yet",
        autoplay=session.races > 0,
    )


def _progress(lanes: Mapping[str, Lane]) -> str:
    """How far a training is, and how long it will still take at this pace."""
    steps = sum(lane.config.steps for lane in lanes.values())
    done = sum(lane.job.step if lane.live else lane.config.steps for lane in lanes.values() if lane.job)
    running = [lane.job for lane in lanes.values() if lane.live and lane.job and lane.job.step]
    if not running:
        return "training"
    left = max(job.seconds / job.step * (job.config.steps - job.step) for job in running)
    return f"training, {done / steps:.0%}, about {duration(left)} left"


def _outcome(lanes: Mapping[str, Lane]) -> str:
    """What is worth knowing of a training that is over."""
    jobs = [lane.job for lane in lanes.values() if lane.job]
    if not jobs:
        return ""
    if any(job.state == "failed" for job in jobs):
        return "A training broke off; its cause is in the server's log, the other runs are untouched. Train again."
    if any(job.state == "stopped" for job in jobs):
        return "Stopped: the curves end where it was. Train runs to the end."
    if all(job.repeated for job in jobs):
        return "Trained once more, and every curve came out as before, bit for bit."
    if any(job.repeated is False for job in jobs):
        return "Trained once more; on this machine the curves differ in their last bits from the stored ones."
    if all(job.saved for job in jobs):
        return "Saved; the address of this page holds these runs."
    return "Trained, but this server could not save the runs to disk."


def _span(curves: Sequence[Float[ndarray, "evaluations replicas"]], accuracy: bool) -> tuple[float, float]:
    """One axis for all models, the same from the first epoch to the last."""
    if accuracy:
        lowest = min((float(values.min()) for values in curves if len(values)), default=0.5)
        return (min(0.42, lowest - 0.02) if lowest < 0.5 else 0.42), 1.03
    return 0.0, max((float(values.max()) for values in curves if len(values)), default=0.7) * 1.05


def results_table(lanes: Mapping[str, Lane], best: float) -> None:
    """Parameters, seconds, and accuracy on all, plain and negated sentences with a dot for each seed."""
    kinds = {
        "test_accuracy": "all test sentences",
        "test_accuracy_plain": "without “not”",
        "test_accuracy_negated": "with “not”",
    }
    if any(lane.curves and "exact_accuracy_held_out" in lane.curves.metrics for lane in lanes.values()):
        kinds["exact_accuracy_held_out"] = "the held-out pair"
    lowest = min(
        (
            float(np.nanmin(lane.curves.last(k)))
            for lane in lanes.values()
            if lane.curves
            for k in kinds
            if _known(lane, k)
        ),
        default=0.5,
    )
    axis = [0.5, 1.0] if lowest >= 0.5 else [0.0, 1.0]
    rows = []
    for lane in lanes.values():
        cells: dict[str, object] = {
            "name": {"text": lane.row.title, "colour": lane.row.colour},
            "parameters": {"text": f"{lane.parameters:,}" if lane.parameters else "–"},
            "seconds": {"text": f"{lane.seconds / lane.config.replicas:.3f}" if lane.seconds and lane.curves else "–"},
        }
        for metric in kinds:
            if not _known(lane, metric) or lane.curves is None:
                cells[metric] = {"text": "–", "values": []}
                continue
            values = lane.curves.last(metric)
            known = [round(float(v), 4) for v in values if not np.isnan(v)]
            mark = best if metric == "test_accuracy" else None
            cells[metric] = {"text": f"{np.nanmean(values):.3f}", "values": known, "mark": mark}
        rows.append({"cells": cells})
    strips = [{"key": k, "label": v, "kind": "strip", "align": "left", "range": axis} for k, v in kinds.items()]
    table(
        [
            {"key": "name", "label": "", "kind": "model", "align": "left"},
            {"key": "parameters", "label": "parameters", "kind": "number", "align": "right"},
            {"key": "seconds", "label": "s / seed", "kind": "number", "align": "right"},
            *strips,
        ],
        rows,
        key="negation-results",
        label="Results of the race, a row a model",
        caption="Accuracy on the test sentences: the mean, and a dot for each seed. Dashed: the ceiling of counting. Seconds: "
        "the whole training divided by its seeds.",
    )


def _known(lane: Lane, metric: str) -> bool:
    return lane.curves is not None and metric in lane.curves.metrics and not np.isnan(lane.curves.last(metric)).all()


def outcome_cell(label: int) -> dict[str, object]:
    """A class as a quiet chip."""
    return {"text": CLASSES[label], "tone": CLASSES[label], "wrong": False}


def _answer_cell(verdict: Verdict, truth: int | None) -> dict[str, object]:
    return {
        "text": f"{CLASSES[verdict.answer]} {verdict.probability:.2f}",
        "tone": CLASSES[verdict.answer],
        "wrong": truth is not None and verdict.answer != truth,
    }


def sentences_table(world: Negation, lanes: Mapping[str, Lane]) -> None:
    """Every sentence of the world, model by model; pairs that differ only in "not" stand together."""
    trained = {model: lane for model, lane in lanes.items() if lane.stored}
    columns: list[dict[str, object]] = [
        {"key": "text", "label": "sentence", "kind": "text", "align": "left"},
        {"key": "truth", "label": "grammar", "kind": "text", "align": "left"},
    ]
    columns += [
        {"key": model, "label": lane.row.title, "kind": "verdict", "align": "left", "colour": lane.row.colour}
        for model, lane in trained.items()
    ]
    rows = []
    for i, sentence in enumerate(world.sentences):
        shown = "" if sentence.train_probability or not sentence.probability else " (held out)"
        cells: dict[str, object] = {
            "text": {"text": sentence.text + shown},
            "truth": {"text": CLASSES[sentence.label]},
        }
        for model, lane in trained.items():
            verdict = Verdict(lane.row.title, lane.row.colour, runs.sustain(lane.stored, sentence.words))  # type: ignore[arg-type]
            cells[model] = _answer_cell(verdict, sentence.label)
        rows.append({"rule": i > 0 and sentence.nots == 0, "cells": cells})
    table(
        columns,
        rows,
        key="negation-sentences",
        label="Every sentence of the grammar through every model",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )


def trap_table(
    alone: Sequence[Verdict], beside: Sequence[Verdict], sentence: str, extra: int, truth: int | None
) -> None:
    """The same sentence alone, and filled up beside a longer one."""
    table(
        [
            {"key": "name", "label": f"“{sentence[:60]}”", "kind": "model", "align": "left"},
            {"key": "alone", "label": "alone", "kind": "verdict", "align": "left"},
            {"key": "seeds-alone", "label": "seeds, P(sustain)", "kind": "strip", "align": "left", "range": [0, 1]},
            {
                "key": "beside",
                "label": f"beside a sentence {number(extra)} token{'s' if extra > 1 else ''} longer",
                "kind": "verdict",
                "align": "left",
            },
            {"key": "seeds-beside", "label": "seeds, P(sustain)", "kind": "strip", "align": "left", "range": [0, 1]},
        ],
        [
            {
                "cells": {
                    "name": {"text": a.title, "colour": a.colour},
                    "alone": _answer_cell(a, truth),
                    "seeds-alone": {"text": "", "values": [round(float(v), 4) for v in a.sustain]},
                    "beside": _answer_cell(b, truth),
                    "seeds-beside": {"text": "", "values": [round(float(v), 4) for v in b.sustain]},
                }
            }
            for a, b in zip(alone, beside, strict=True)
        ],
        key="negation-trap",
        label="The same sentence alone and in company",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )


def ceiling_formula(task: NegationConfig, best: float) -> str:
    """The ceiling as a formula with this world's numbers in it."""
    p = task.p_not
    if task.max_nots == 1:
        return rf"1 - \tfrac{{1}}{{3}}\min(p, 1 - p) = 1 - \tfrac{{1}}{{3}}\cdot {min(p, 1 - p):.4g} = {best:.4f}"
    return (
        rf"\max_{{\pm}} \sum_{{\text{{verb}}}} \max_{{t}} P(\text{{verb}},\, k\ \text{{nots}}\colon\ "
        rf"[k \ge t]^{{\pm}} = \text{{truth}}) = {best:.4f}"
    )


def ceiling_words(task: NegationConfig) -> str:
    """What stands in that formula."""
    if task.max_nots == 1:
        return (
            f"“Not” stands in {100 * task.p_not:.3g} of 100 sentences and each verb in a third of them. The cheapest to give "
            f"up is one verb {'with' if task.p_not <= 0.5 else 'without'} its “not”."
        )
    return (
        "With its one weight, “not” can only push all verbs the same way. So each verb says *sustain* from some number of "
        "“not”s on (or up to some number), and each may choose its number t: the best choice is found by trying all."
    )


@lru_cache(maxsize=64)
def marks_by_chance(max_nots: int, held_out: str) -> tuple[list[float], list[float], list[float]]:
    """The ceiling and the cross-entropy mark for every probability of "not" between 0 and 1."""
    chances = [round(float(p), 4) for p in np.linspace(0.005, 0.995, 199)]
    worlds = [Negation(NegationConfig(p_not=p, max_nots=max_nots, held_out=held_out)).sentences for p in chances]  # type: ignore[arg-type]
    return chances, [ceiling(w) for w in worlds], [cross_entropy_accuracy(w) for w in worlds]
