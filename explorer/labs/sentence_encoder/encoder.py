"""The encoder: its settings, similarity over its layers and that of two controls, its training, and its formulas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.inspection.compare import median_and_range
from explorer.inspection.words import sense_vectors
from explorer.labs.sentence_encoder import findings
from explorer.labs.sentence_encoder.state import SentenceEncoderState

TASK_DESCRIPTIONS = {
    "gloss": "The encoder is trained to name the sense of every word: for “bank”, money or river.",
    "gist": "One word is hidden, and the encoder is trained to name it. No example says what “bank” means.",
}


def controls(session: ui.PageSession[SentenceEncoderState]) -> None:
    """Draw the choice of the task and, folded, the settings."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "task", st.segmented_control, update=lambda s, task: s.with_settings(task=task))
        with st.popover("Settings", icon=":material/tune:"):
            _training_settings(session)
    ui.caption(ui.escape_markdown(TASK_DESCRIPTIONS[state.task]))


def _training_settings(session: ui.PageSession[SentenceEncoderState]) -> None:
    ui.bind_widget(
        session, "layers", st.segmented_control, update=lambda s, layers: s.with_settings(layers=layers, layer=-1)
    )
    ui.bind_widget(session, "seeds", st.number_input)
    ui.bind_widget(session, "steps", st.number_input)
    ui.bind_widget(session, "rate", st.number_input, format="%.4f")
    ui.bind_widget(session, "seed", st.number_input)
    ui.reset_button(session)


_ACCURACY = {"gloss": ui.Metric("sense", "Senses told apart"), "gist": ui.Metric("synonym", "Senses told apart")}
_NEW_CUES = {"gloss": "new_cues", "gist": "new_synonym"}  # the same metrics with other nouns
_WAITING = "Every seed reads new sentences …"


def curves_section(state: SentenceEncoderState, views: Mapping[str, ui.RunView]) -> None:
    """Draw the verdict and the similarity over the layers of the encoder and both controls."""
    if calls := _similarity_calls(state, views):
        ui.show_each("sentences-alike", calls, layers_view, waiting=_WAITING, height=400)
    else:
        ui.empty_panel("No finished run with these settings yet.", 120)


def accuracy_section(state: SentenceEncoderState, views: Mapping[str, ui.RunView]) -> None:
    """Draw the comparison with both controls, and how accurate the trained encoder is, also with new nouns."""
    if calls := _similarity_calls(state, views):
        ui.show_each("sentences-controls", calls, controls_view, waiting=_WAITING, height=120)
    encoder, alone = (views[name] for name in state.variant_names)
    if not ui.is_finished(encoder) or encoder.result is None:
        return
    accuracy = _ACCURACY[state.task].name
    right, new = encoder.result.last(accuracy), encoder.result.last(_NEW_CUES[state.task])
    without = alone.result if ui.is_finished(alone) else None
    finding = findings.word_sense_finding if state.task == "gloss" else findings.masked_word_finding
    ui.paragraph(finding(right, new, None if without is None else float(np.median(without.last(accuracy)))))


def _similarity_calls(
    state: SentenceEncoderState, views: Mapping[str, ui.RunView]
) -> dict[str, ui.Call[sense_vectors.SenseSimilarity]]:
    """Return the calls for the similarities of the encoder and of both controls; none before they are trained."""
    encoder, alone = (views[name].loaded_run for name in state.variant_names)
    if encoder is None or alone is None:
        return {}
    return {
        "After training": ui.Call(sense_vectors.run_similarity, encoder),
        "Before training": ui.Call(sense_vectors.untrained_similarity, encoder.config),
        "Without attention": ui.Call(sense_vectors.run_similarity, alone),
    }


def layers_view(document: ui.Document, results: Mapping[str, sense_vectors.SenseSimilarity]) -> None:
    """Write how similar a word is in two sentences, by layer."""
    if len(results) < 3:
        return
    trained = results["After training"]
    document.finding(findings.similarity_verdict(trained.same_sense, trained.other_sense))
    lowest = min(0.0, *(float(each.other_sense.min()) for each in results.values())) - 0.04
    panels = [
        ui.Panel(name.lower().replace(" ", "-"), similarity_chart(name, each, lowest), title=name)
        for name, each in results.items()
    ]
    document.figures("sentences-layers", panels, height=300, narrow_height=220, columns=3)
    document.text(findings.similarity_note(trained.same_sense, trained.other_sense))
    document.caption(
        "Cosine similarity of one word in two new sentences, over all pairs of the four words with two senses, after "
        "the mean vector of the layer was subtracted. Line: median; band: lowest to highest seed. The encoder without "
        "attention has two layers."
    )


def similarity_chart(name: str, each: sense_vectors.SenseSimilarity, lowest: float) -> charts.LineChart:
    """Return both cosine similarities over the layers; the y axis begins at `lowest`."""
    layers = np.arange(each.same_sense.shape[1])
    lines = [
        charts.Line(sense, sense, colour, dash, layers, median_and_range(values.T), "filled")
        for sense, values, colour, dash in (
            ("same sense", each.same_sense, "--sign-5", "solid"),
            ("other sense", each.other_sense, "--sign-1", "8px,4px"),
        )
    ]
    return charts.LineChart(
        f"{name}: cosine similarity of a word in two sentences, by layer",
        lines,
        charts.Axis("layer", (-0.15, len(layers) - 0.7), ticks=layers.tolist()),
        charts.Axis("cosine similarity", (lowest, 1.04), ticks={0: "0", 0.5: "0.5", 1: "1"}),
    )


def controls_view(document: ui.Document, results: Mapping[str, sense_vectors.SenseSimilarity]) -> None:
    """Write the comparison of the trained encoder with both controls."""
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


def training_section(state: SentenceEncoderState, request: ui.TrainRequest) -> None:
    """Draw the training curves of both models."""
    what = (
        "Share of words whose right sense is the more probable one"
        if state.task == "gloss"
        else "Share of words with two senses that lie nearer to the synonym of the right sense"
    )
    ui.draw_learning_chart(
        "sentences-race",
        request,
        state.configs,
        ui.curve_panels([_ACCURACY[state.task]], state.variants),
        f"{what}, on new sentences; guessing gives one half. Line: median over seeds; band: lowest to highest.",
        run=f"sentences-{state.task}",
        height=280,
        narrow_height=240,
        columns=1,
    )


def formulas_section(state: SentenceEncoderState) -> None:
    """Draw what a block does to the vector of a word."""
    ui.explanation(
        "At layer 0 a word is its embedding plus a vector for its position. Each block adds a weighted sum of the "
        "value vectors of all words (attention), and then transforms every word by itself (feedforward):"
    )
    st.latex(
        r"\begin{aligned} a &= \mathrm{softmax}(QK^\top / \sqrt{d_k})\,V \\ x &\leftarrow \mathrm{LayerNorm}(x + a) \\"
        r" f &= W_2 \max(0,\, W_1 x + b_1) + b_2 \\ x &\leftarrow \mathrm{LayerNorm}(x + f) \end{aligned}"
    )
    config = state.configs[state.variant_names[0]].model
    width, heads, hidden = (getattr(config, name) for name in ("width", "heads", "hidden"))
    ui.explanation(
        f"Here x has {width} numbers, with {heads} heads of dₖ = {width // heads} and {hidden} hidden units; position "
        "vectors are sines. The feedforward part sees one word at a time, so only attention can bring “river” into the "
        "vector of “bank”. All topics share the same sentence patterns, so neither the position of a word nor the "
        "function words give its sense away."
    )
