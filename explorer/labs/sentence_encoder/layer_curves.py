"""Similarity over the layers of the trained encoder and its two controls, and how the models learn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from explorer.byte_cache import cached
from explorer.figures.seq2seq.translation import exact_match_by_step
from explorer.figures.words.sense_similarity import OTHER, SAME, similarity_by_layer
from explorer.inspection import load_model
from explorer.inspection.words import sense_vectors
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.training import model_factory
from explorer.training.config import RunConfig, key
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import empty_panel, escape_markdown, explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, is_finished
from explorer.ui.training.variant_charts import VariantCurves, curves_of_variants, metric_lines
from explorer.ui.wording import join_words

HEIGHT = 300
ACCURACY_METRICS = {"gloss": "sense", "gist": "synonym"}
NEW_CUE_METRICS = {"gloss": "new_cues", "gist": "new_synonym"}


def curves_section(state: SentenceEncoderState, views: Mapping[str, RunView]) -> None:
    """Draw the verdict and the similarity over the layers of the encoder and both controls."""
    if not (jobs := _similarity_jobs(state, views)):
        empty_panel("No finished run with these settings yet.", 120)
        return
    result_section("sentences-alike", jobs, partial(_draw), "Every seed reads new sentences …", HEIGHT + 100)


def accuracy_section(state: SentenceEncoderState, views: Mapping[str, RunView]) -> None:
    """Draw the comparison with both controls, and how accurate the trained encoder is, also with new nouns."""
    if jobs := _similarity_jobs(state, views):
        result_section("sentences-controls", jobs, partial(_draw_comparison), "Every seed reads new sentences …", 120)
    _draw_accuracy(state, views)


def _similarity_jobs(
    state: SentenceEncoderState, views: Mapping[str, RunView]
) -> dict[str, Request[sense_vectors.SenseSimilarity]] | None:
    """Return the requests for the similarities of the encoder and of both controls; None before they are trained."""
    encoder, alone = (views[name] for name in state.variant_names)
    if encoder.loaded_run is None or alone.loaded_run is None:
        return None
    return {
        "After training": (("sentences-alike", *encoder.cache_key), partial(_trained_similarity, encoder)),
        "Before training": (("sentences-alike", key(encoder.config)), partial(_untrained_similarity, encoder.config)),
        "Without attention": (("sentences-alike", *alone.cache_key), partial(_trained_similarity, alone)),
    }


def _trained_similarity(view: RunView) -> sense_vectors.SenseSimilarity:
    assert view.loaded_run is not None
    return sense_vectors.sense_similarity(load_model.load_model(view.loaded_run).stack, view.config.replicas)


def _untrained_similarity(config: RunConfig) -> sense_vectors.SenseSimilarity:
    return sense_vectors.sense_similarity(model_factory.build_model(config).requires_grad_(False), config.replicas)


def _draw(document: Document, results: Mapping[str, sense_vectors.SenseSimilarity]) -> None:
    if len(results) < 3:
        return
    trained = next(iter(results.values()))
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
    document.text(findings.similarity_note(trained.same_sense, trained.other_sense))
    document.caption(
        "Cosine similarity of one word in two new sentences, over all pairs of the four words with two senses, after "
        "the mean vector of the layer was subtracted. Line: median; band: lowest to highest seed. The encoder without "
        "attention has two layers."
    )


def _draw_comparison(document: Document, results: Mapping[str, sense_vectors.SenseSimilarity]) -> None:
    if len(results) < 3:
        return
    trained, untrained, alone = results.values()
    document.text(
        findings.controls_finding(
            (trained.same_sense, trained.other_sense),
            (untrained.same_sense, untrained.other_sense),
            (alone.same_sense, alone.other_sense),
        )
    )
    document.text(findings.nearest_neighbour_finding(trained.neighbour_agreement, untrained.neighbour_agreement))


@cached()
def _panel(name: str, each: sense_vectors.SenseSimilarity, lowest: float) -> Panel:
    same, other = (float(np.median(values[:, -1])) for values in (each.same_sense, each.other_sense))
    ends = f"{SAME} {same:.2f}, {OTHER} {other:.2f}"
    return Panel(
        name.lower().replace(" ", "-"),
        similarity_by_layer(each.same_sense, each.other_sense, lowest),
        alt=f"{name}: cosine similarity of a word in two sentences, by layer; at the last one {ends}.",
        title=name,
        tracks=value_tracks([(SAME, "--sign-5"), (OTHER, "--sign-1")]),
    )


# ---- how well, and how it was learned


def _draw_accuracy(state: SentenceEncoderState, views: Mapping[str, RunView]) -> None:
    encoder, alone = (views[name] for name in state.variant_names)
    if not is_finished(encoder) or encoder.result is None:
        return
    right, new = (encoder.result.last(name[state.task]) for name in (ACCURACY_METRICS, NEW_CUE_METRICS))
    without = alone.result if is_finished(alone) else None
    accuracy_without = None if without is None else float(np.median(without.last(ACCURACY_METRICS[state.task])))
    finding = findings.word_sense_finding if state.task == "gloss" else findings.masked_word_finding
    explanation(escape_markdown(finding(right, new, accuracy_without)))


def training_section(state: SentenceEncoderState, request: TrainRequest) -> None:
    """Draw the training curves of both models."""
    what = (
        "Share of words whose right sense is the more probable one"
        if state.task == "gloss"
        else "Share of words with two senses that lie nearer to the synonym of the right sense"
    )
    draw_learning_chart(
        "sentences-race",
        request,
        state.configs,
        partial(_training_panels, state),
        f"{what}, on new sentences; guessing gives one half. Line: median over seeds; band: lowest to highest.",
        run=f"sentences-{state.task}",
        height=280,
        narrow_height=240,
        columns=1,
    )


def _training_panels(state: SentenceEncoderState, views: Mapping[str, RunView]) -> list[Panel]:
    return [_training_panel(state.task, curves_of_variants(state.variants, views), last_step(views))]


@cached()
def _training_panel(task: str, curves_by_variant: VariantCurves, last: int) -> Panel:
    """Draw accuracy by step; cached for all visitors who look at the same runs."""
    lines = metric_lines(curves_by_variant, ACCURACY_METRICS[task], "median")
    return Panel(
        f"learning-{task}",
        exact_match_by_step(lines, last),
        alt=f"Senses told apart by step: {join_words([variant.words for variant, _ in curves_by_variant])}.",
        tracks=value_tracks([(variant.title, variant.colour) for variant, _ in curves_by_variant]),
    )
