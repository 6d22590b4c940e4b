"""Similarity over the layers of the trained encoder and its two controls, and how the models learn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import variant_line
from explorer.figures.sense_similarity import OTHER, SAME, similarity_by_layer
from explorer.figures.translation import exact_match_by_step
from explorer.inspection.compare import metric_over_seeds
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.result_section import result_section
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, is_finished
from explorer.ui.wording import count_seeds, join_words

if TYPE_CHECKING:
    from explorer.inspection.words.sense_vectors import SenseSimilarity

HEIGHT = 300
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

    result_section("sentences-alike", jobs, partial(_draw), "Every seed reads fresh sentences …", HEIGHT + 100)


def _trained_similarity(view: RunView) -> SenseSimilarity:
    from explorer.inspection.load_model import load_model
    from explorer.inspection.words.sense_vectors import sense_similarity

    assert view.loaded_run is not None
    return sense_similarity(load_model(view.loaded_run).stack, view.config.replicas)


def _untrained_similarity(config: RunConfig) -> SenseSimilarity:
    from explorer.inspection.words.sense_vectors import sense_similarity
    from explorer.training.model_factory import build_model

    return sense_similarity(build_model(config).requires_grad_(False), config.replicas)


def _draw(document: Document, results: Mapping[str, SenseSimilarity]) -> None:
    if len(results) < 3:
        return
    trained, untrained, alone = results.values()
    document.finding(findings.similarity_verdict(trained.same_sense, trained.other_sense))
    lowest = min(0.0, *(float(each.other_sense.min()) for each in results.values())) - 0.04
    add_plot_frame(
        document,
        [_panel(name, each, lowest) for name, each in results.items()],
        key="sentences-layers",
        height=HEIGHT,
        narrow_height=220,
        columns=3,
    )
    document.text(
        findings.controls_finding(
            (trained.same_sense, trained.other_sense),
            (untrained.same_sense, untrained.other_sense),
            (alone.same_sense, alone.other_sense),
        )
    )
    document.text(findings.nearest_neighbour_finding(trained.neighbour_agreement, untrained.neighbour_agreement))
    document.caption(
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
    if not is_finished(encoder) or encoder.result is None:
        return
    right, new = (encoder.result.last(name[state.task]) for name in (ACCURACY_METRICS, NEW_CUE_METRICS))
    without_attention = alone.result if is_finished(alone) else None
    accuracy_without_attention = (
        None if without_attention is None else float(without_attention.last(ACCURACY_METRICS[state.task]).mean())
    )
    finding = findings.word_sense_finding if state.task == "gloss" else findings.masked_word_finding
    explanation(escape_markdown(finding(right, new, accuracy_without_attention)))


def training_section(state: SentenceEncoderState, request: TrainRequest) -> None:
    """Draw the training curves of both models."""
    what = (
        "How often the right one of its two senses is the likelier"
        if state.task == "gloss"
        else "How often a homograph lies nearer to the synonym of its sense than to that of the other one"
    )
    draw_learning_chart(
        "sentences-race",
        request,
        state.configs,
        partial(_training_panels, state),
        f"{what}, on fresh sentences; by chance half the time. Band: lowest to highest seed.",
        run=f"sentences-{state.task}",
        height=280,
        narrow_height=240,
        columns=1,
    )


def _training_panels(state: SentenceEncoderState, views: Mapping[str, RunView]) -> list[Panel]:
    curves_by_variant = tuple((state.variants[name], view.curves) for name, view in views.items())
    return [_training_panel(state.task, curves_by_variant, last_step(views))]


@lru_cache(maxsize=64)
def _training_panel(task: str, curves_by_variant: tuple[tuple[ModelVariant, Curves | None], ...], last: int) -> Panel:
    """Draw accuracy by step; cached for all visitors who look at the same runs."""
    metric = ACCURACY_METRICS[task]
    lines = [variant_line(variant, *metric_over_seeds(curves, metric)) for variant, curves in curves_by_variant]
    return Panel(
        f"learning-{task}",
        exact_match_by_step(lines, last),
        alt=f"Senses told apart by step: {join_words([variant.words for variant, _ in curves_by_variant])}.",
        tracks=value_tracks([(variant.title, variant.colour) for variant, _ in curves_by_variant]),
    )
