"""One n-gram on one text, over the tokens of several tokenizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.experiments.default_runs import text_run
from explorer.inspection.language.tokenizer_losses import TokenizerLoss, measure_tokenizer_loss
from explorer.inspection.language.tokenizers import Kind
from explorer.labs.perplexity import findings
from explorer.labs.perplexity.state import TOKENIZERS, PerplexityState
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig

_SHORT: Mapping[Kind, str] = {"char": "characters", "bytes": "bytes", "bpe": "BPE", "word": "words"}


def tokenizer_controls(session: ui.PageSession[PerplexityState]) -> None:
    """Draw the choice of the tokenizers, their vocabulary, and of what is counted."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "tokens", st.pills, selection_mode="multi", update=PerplexityState.with_tokens)
        ui.bind_widget(session, "vocabulary", st.select_slider, width=260)
        ui.bind_widget(session, "omitted", st.segmented_control)


def tokenizer_section(state: PerplexityState, text: TextConfig) -> None:
    """Draw the loss of the n-gram for each tokenizer: bars in the comparable unit, a table of the others."""
    settings = text_run("ngram").model
    assert isinstance(settings, NgramTextConfig)
    calls = {kind: ui.Call(measure_tokenizer_loss, task, settings) for kind, task in state.tasks(text).items()}
    ui.show_each(
        "perplexity-tokenizers",
        calls,
        tokenizers_view,
        state.omitted == "counted",
        settings.n,
        int(state.vocabulary),
        waiting="The n-gram is fitted to the text once for each tokenizer …",
        height=430,
        pool="patient",  # each takes 200 MB while it counts
        partly=True,
    )


def tokenizers_view(
    document: ui.Document, results: Mapping[Kind, TokenizerLoss], counted: bool, order: int, vocabulary: int
) -> None:
    """Write the finding, the bars of what can be compared, a table of what cannot, and the caption.

    counted: whether bits per byte contain what no token represents
    order: of the n-gram
    vocabulary: the largest number of tokens
    """
    losses = {kind: results[kind] for kind in TOKENIZERS if kind in results}
    document.finding(findings.tokenizers_finding(losses, counted))
    measures: list[tuple[str, str, int, Callable[[TokenizerLoss], float]]] = [
        ("loss", "nats per token", 3, lambda each: each.ngram.loss),
        ("perplexity", "perplexity", 1, lambda each: each.ngram.perplexity),
        ("characters", "bits per character", 3, lambda each: each.ngram.bits_per_character),
    ]
    place: ui.Document = document
    if counted:
        left, place = document.columns(2)
        panel = ui.Panel("perplexity-bytes", bytes_chart(losses), title="Bits per byte")
        left.figures("perplexity-bars", [panel], height=60 + 46 * len(losses))
    else:
        measures.append(("predicted", "bits per byte", 3, lambda each: each.predicted_bits_per_byte))
    rows = [
        {"tokenizer": _SHORT[kind]} | {name: f"{measure(each):,.{digits}f}" for name, _, digits, measure in measures}
        for kind, each in losses.items()
    ]
    columns = {"tokenizer": charts.Column("tokenizer")} | {
        name: charts.Column(label, "number", minor=name == "characters") for name, label, *_ in measures
    }
    caption = "These numbers cannot be compared between the rows."
    place.table("perplexity-units", charts.Table(columns, rows, "The same loss in other units", caption))
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
