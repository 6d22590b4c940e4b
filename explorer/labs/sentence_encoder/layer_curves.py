"""Similarity over the layers of the trained encoder and its two controls, and how the models learn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.experiments.labelling import LabellingVariant
from explorer.figures.comparison import Line
from explorer.figures.sense_similarity import OTHER, SAME, similarity_by_layer
from explorer.figures.translation import exact_match_by_step
from explorer.inspection.compare import metric_over_seeds
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, Playback, draw_plot_frame, value_tracks
from explorer.ui.deferred_sections import show_all_when_ready
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView
from explorer.ui.training.step_playback import last_step, playback
from explorer.ui.training.train_controls import TrainRequest
from explorer.ui.wording import count_seeds, join_words

if TYPE_CHECKING:
    from explorer.inspection.words.sense_vectors import SenseSimilarity

HEIGHT = 300
COLOUR = "--m-transformer"
ACCURACY_METRICS = {"gloss": "sense", "gist": "synonym"}
NEW_CUE_METRICS = {"gloss": "new_cues", "gist": "new_synonym"}


def curves_section(state: SentenceEncoderState, views: Mapping[str, RunView]) -> None:
    """Draw the verdict and the similarity over the layers of the encoder and both controls."""
    encoder, alone = (views[name] for name in state.variant_names)
    if encoder.loaded_run is None or alone.loaded_run is None:
        return
    jobs = {
        "After training": (("sentences-alike", *encoder.cache_key), partial(_trained_similarity, encoder)),
        "Before training": (("sentences-alike", key(encoder.config)), partial(_untrained_similarity, encoder.config)),
        "Without attention": (("sentences-alike", *alone.cache_key), partial(_trained_similarity, alone)),
    }

    def draw(results: Mapping[str, SenseSimilarity]) -> None:
        if len(results) == len(jobs):
            _draw(state, results)

    show_all_when_ready("sentences-alike", jobs, draw, "Every seed reads fresh sentences …", HEIGHT + 100)


def _trained_similarity(view: RunView) -> SenseSimilarity:
    from explorer.inspection.load_model import load_model
    from explorer.inspection.words.sense_vectors import sense_similarity

    assert view.loaded_run is not None
    return sense_similarity(load_model(view.loaded_run).stack, view.config.replicas)


def _untrained_similarity(config: RunConfig) -> SenseSimilarity:
    from explorer.inspection.words.sense_vectors import sense_similarity
    from explorer.training.model_factory import build_model

    return sense_similarity(build_model(config).requires_grad_(False), config.replicas)


def _draw(state: SentenceEncoderState, results: Mapping[str, SenseSimilarity]) -> None:
    trained, untrained, alone = results.values()
    st.subheader(escape_markdown(findings.similarity_verdict(trained.same_sense, trained.other_sense)), anchor=False)
    lowest = min(0.0, *(float(each.other_sense.min()) for each in results.values())) - 0.04
    draw_plot_frame(
        [_panel(name, each, lowest) for name, each in results.items()],
        key="sentences-layers",
        height=HEIGHT,
        narrow_height=220,
        columns=3,
    )
    explanation(
        escape_markdown(
            findings.controls_finding(
                (untrained.same_sense, untrained.other_sense), (alone.same_sense, alone.other_sense)
            )
        )
    )
    explanation(
        escape_markdown(findings.nearest_neighbour_finding(trained.neighbour_agreement, untrained.neighbour_agreement))
    )
    st.caption(
        "Likeness of one word in two fresh sentences: the cosine of its vectors, over all pairs of the four words with "
        "two senses. Centred: the mean vector of all words of a layer is taken off first. Across: layer 0 is the "
        "embedding with its position. The control without attention has two layers. "
        f"Line: mean of {count_seeds(len(trained.same_sense))}; band: lowest to highest."
    )


@lru_cache(maxsize=64)
def _panel(name: str, each: SenseSimilarity, lowest: float) -> Panel:
    ends = f"{SAME} {float(each.same_sense[:, -1].mean()):.2f}, {OTHER} {float(each.other_sense[:, -1].mean()):.2f}"
    return Panel(
        name.lower().replace(" ", "-"),
        similarity_by_layer(each.same_sense, each.other_sense, lowest),
        alt=f"{name}: likeness of a word to itself over the layers, at the last one {ends}.",
        title=name,
        tracks=value_tracks([(SAME, "--sign-5"), (OTHER, "--sign-1")]),
    )


# ---- how well, and how it was learned


def accuracy_section(state: SentenceEncoderState, views: Mapping[str, RunView]) -> None:
    """Draw how accurate the trained encoder is, also with new cue words."""
    encoder, alone = (views[name] for name in state.variant_names)
    if not train_controls.is_finished(encoder) or encoder.result is None:
        return
    right, new = (encoder.result.last(name[state.task]) for name in (ACCURACY_METRICS, NEW_CUE_METRICS))
    without_attention = alone.result if train_controls.is_finished(alone) else None
    accuracy_without_attention = (
        None if without_attention is None else float(without_attention.last(ACCURACY_METRICS[state.task]).mean())
    )
    finding = findings.word_sense_finding if state.task == "gloss" else findings.masked_word_finding
    explanation(escape_markdown(finding(right, new, accuracy_without_attention)))


def training_section(state: SentenceEncoderState, views: Mapping[str, RunView], request: TrainRequest) -> None:
    """Draw the training curves of both models."""
    training_count = request.train_count
    train_controls.draw_live_frame(
        "sentences-race",
        state.configs,
        request.requested_runs,
        views,
        lambda now: _training_panels(state, now, training_count),
        height=280,
        narrow_height=240,
        columns=1,
    )
    what = (
        "How often the right one of its two senses is the likelier"
        if state.task == "gloss"
        else "How often a homograph lies nearer to the synonym of its sense than to that of the other one"
    )
    outcome = train_controls.describe_outcome(views)
    st.caption(f"{outcome} {what}, on fresh sentences; by chance half the time. Band: lowest to highest seed.".strip())


def _training_panels(
    state: SentenceEncoderState, views: Mapping[str, RunView], training_count: int
) -> tuple[list[Panel], Playback]:
    last = last_step(views)
    curves_by_variant = tuple((state.variants[name], view.curves) for name, view in views.items())
    return [_training_panel(state.task, curves_by_variant, last)], playback(
        views, training_count, f"sentences-{state.task}"
    )


@lru_cache(maxsize=64)
def _training_panel(
    task: str, curves_by_variant: tuple[tuple[LabellingVariant, Curves | None], ...], last: int
) -> Panel:
    """Draw accuracy by step; cached for all visitors who look at the same runs."""
    lines = []
    for variant, curves in curves_by_variant:
        lines.append(
            Line(variant.label, variant.words, COLOUR, variant.dash, *metric_over_seeds(curves, ACCURACY_METRICS[task]))
        )
    return Panel(
        f"learning-{task}",
        exact_match_by_step(lines, last),
        alt=f"Senses told apart by step: {join_words([variant.words for variant, _ in curves_by_variant])}.",
        tracks=value_tracks([(variant.title, COLOUR) for variant, _ in curves_by_variant]),
    )
