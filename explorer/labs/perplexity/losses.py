"""The loss of one n-gram over the tokens of several tokenizers, and of networks by context and stride."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import model_row
from explorer.errors import LineageError
from explorer.experiments.default_runs import text_run
from explorer.inspection.compare import median_and_range
from explorer.inspection.language import perplexity
from explorer.inspection.language.tokenizer_losses import TokenizerLoss, measure_tokenizer_loss
from explorer.inspection.language.tokenizers import Kind
from explorer.labs.perplexity import findings
from explorer.labs.perplexity.state import CONTEXTS, STRIDES, TOKENIZERS, PerplexityState
from explorer.models.configs import NgramTextConfig
from explorer.run_store import store
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig

_SHORT: Mapping[Kind, str] = {"char": "characters", "bytes": "bytes", "bpe": "BPE", "word": "words"}


def tokenizer_controls(session: ui.PageSession[PerplexityState]) -> None:
    """Draw the choice of the tokenizers, their vocabulary, and of what is counted."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "tokens", st.pills, selection_mode="multi", update=PerplexityState.with_tokens)
        ui.bind_widget(session, "vocabulary", st.select_slider, width=260)
        ui.bind_widget(session, "omitted", st.segmented_control)


def tokenizer_section(state: PerplexityState, text: TextConfig) -> None:
    """Draw the loss of the n-gram for each tokenizer in the comparable unit."""
    _show_losses("perplexity-tokenizers", state, text, tokenizers_view, state.omitted == "counted")


def units_section(state: PerplexityState, text: TextConfig) -> None:
    """Draw the same losses in the other units, and how they are measured."""
    _show_losses("perplexity-units", state, text, units_view, int(state.vocabulary))


def _show_losses(name: str, state: PerplexityState, text: TextConfig, view: Callable[..., None], setting: int) -> None:
    """Show a view of the losses of the n-gram by tokenizer, to which its order and a setting are given too."""
    settings = text_run("ngram").model
    assert isinstance(settings, NgramTextConfig)
    calls = {kind: ui.Call(measure_tokenizer_loss, task, settings) for kind, task in state.tasks(text).items()}
    ui.show_each(
        name,
        calls,
        view,
        settings.n,
        setting,
        waiting="The n-gram is fitted to the text once for each tokenizer …",
        height=360,
        pool="patient",  # each takes 200 MB while it counts
        partly=True,
    )


def tokenizers_view(document: ui.Document, results: Mapping[Kind, TokenizerLoss], order: int, counted: bool) -> None:
    """Write the finding, and the bars of what can be compared, if bits per byte count what no token represents."""
    losses = {kind: results[kind] for kind in TOKENIZERS if kind in results}
    document.finding(findings.tokenizers_finding(losses, counted))
    if counted:
        panel = ui.Panel("perplexity-bytes", bytes_chart(losses), title=f"Bits per byte of a {order}-gram")
        document.figures("perplexity-bars", [panel], height=60 + 56 * len(losses), columns=1)


def units_view(document: ui.Document, results: Mapping[Kind, TokenizerLoss], order: int, vocabulary: int) -> None:
    """Write the table of what cannot be compared, and how the n-gram of an order is fitted to a vocabulary at most."""
    losses = {kind: results[kind] for kind in TOKENIZERS if kind in results}
    measures: list[tuple[str, str, int, Callable[[TokenizerLoss], float]]] = [
        ("loss", "nats per token", 3, lambda each: each.ngram.loss),
        ("perplexity", "perplexity", 1, lambda each: each.ngram.perplexity),
        ("characters", "bits per character", 3, lambda each: each.ngram.bits_per_character),
        ("predicted", "bits per byte of the tokens alone", 3, lambda each: each.predicted_bits_per_byte),
    ]
    rows = [
        {"tokenizer": _SHORT[kind]} | {name: f"{measure(each):,.{digits}f}" for name, _, digits, measure in measures}
        for kind, each in losses.items()
    ]
    columns = {"tokenizer": charts.Column("tokenizer")} | {
        name: charts.Column(label, "number", wrap=True) for name, label, *_ in measures
    }
    document.table("perplexity-units", charts.Table(columns, rows, "The same loss in other units"))
    sentences = [findings.omitted_sentence(kind, each) for kind, each in losses.items()]
    document.caption(
        f"A {order}-gram with modified Kneser–Ney smoothing, fitted to the first nine tenths of the text and evaluated "
        f"on the last tenth in blocks of 64 tokens; at most {vocabulary:,} tokens except for characters. Bits per "
        "character divide the loss by all characters, also by those that no token represents. "
        + " ".join(filter(None, sentences))
    )


def bytes_chart(losses: Mapping[Kind, TokenizerLoss]) -> charts.BarChart:
    """Return the bits per byte of each tokenizer; the lowest bar is solid."""
    values = np.array([each.bits_per_byte for each in losses.values()])
    bars = charts.Bars("loss", values, "--m-ngram")
    names, lowest = [_SHORT[kind] for kind in losses], np.flatnonzero(values == values.min()).tolist()
    return charts.BarChart("Bits per byte of the text as it is", names, [bars], digits=3, solid=lowest, margin=80)


# ---- contexts and strides


RUN = "text-best-seeds"
TARGETS = 8_192  # held-out characters that are predicted: three seeds take about 25 s for all contexts and strides
_LABELS = {1: "blocks", 2: "half", 4: "a quarter"}
_DASHES = {1: "solid", 2: "10px,4px", 4: "2px,4px"}


def window_section(session: ui.PageSession[PerplexityState]) -> None:
    """Draw the loss of an included run by the context and the stride with which the text is read."""
    if not corpora.is_corpus_available("tinyshakespeare"):
        ui.empty_panel("Tiny Shakespeare, which these networks predict, is not on this machine.", 120)
        return
    try:
        run = store.find(RUN)
    except LineageError as error:
        ui.empty_panel(str(error), 120)
        return
    state = session.state
    ui.show_each(
        "perplexity-windows",
        {str(context): ui.Call(perplexity.run_losses, run, TARGETS, context, STRIDES) for context in CONTEXTS},
        windows_view,
        model_row(run.config.model).colour,
        int(state.context),
        int(state.stride),
        waiting="The networks read the held-out text with every context and stride; that takes some seconds …",
        height=480,
        pool="patient",
        partly=True,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "context", st.segmented_control)
        ui.bind_widget(session, "stride", st.segmented_control)


def windows_view(
    document: ui.Document,
    results: Mapping[str, Float[ndarray, "strides replicas"]],
    colour: str,
    context: int,
    divisor: int,
) -> None:
    """Write the finding, the sentences about the selected windows, the lines and the caption.

    colour: of the model
    context, divisor: the selected context, and what divides it to give the selected stride
    """
    losses = {each: results[str(each)] for each in CONTEXTS if str(each) in results}
    document.finding(findings.windows_finding(losses))
    if context in losses:
        document.text(findings.selected_sentence(context, divisor, losses[context]))
        document.text(findings.stride_sentence(context, losses[context]))
    panel = ui.Panel("perplexity-windows", windows_chart(losses, colour, context, divisor))
    document.figures("perplexity-windows-figure", [panel], height=320, columns=1)
    seeds = next(iter(losses.values())).shape[1]
    document.caption(
        "The larger Transformer of Language models, trained on blocks of 128 characters: median, lowest and highest of "
        f"{ui.count_seeds(seeds)}. All figures are of the same {TARGETS:,} characters, the first of the "
        "held-out end. In blocks the first character of a window has one character before it. With a smaller stride "
        "only the characters after the end of the window before count, so each has more context and the text is read "
        "several times."
    )


def windows_chart(
    losses: Mapping[int, Float[ndarray, "strides replicas"]], colour: str, context: int, divisor: int
) -> charts.LineChart:
    """Return the loss by context, a line for each stride; the selected ones are marked. See `windows_view`."""
    x, values = np.array(list(losses)), np.stack(list(losses.values()), axis=1)
    lines = [
        charts.Line(
            _LABELS[each],
            _LABELS[each],
            colour,
            _DASHES[each],
            x,
            median_and_range(of),
            "filled" if each == divisor else "hollow",
        )
        for each, of in zip(STRIDES, values, strict=True)
    ]
    return charts.LineChart(
        "Loss in nats per character by context and stride",
        lines,
        charts.Axis("characters in a window", log=True, ticks={size: str(size) for size in losses}),
        charts.Axis("nats per character"),
        [charts.selection(context)],
        digits=3,
    )
