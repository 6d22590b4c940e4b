"""One n-gram on one text, over the tokens of several tokenizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from explorer.experiments.default_runs import text_run
from explorer.figures.language.perplexity import bars
from explorer.inspection.language.tokenizer_losses import TokenizerLoss, measure_tokenizer_loss
from explorer.inspection.language.tokenizers import Kind
from explorer.labs.perplexity import findings
from explorer.labs.perplexity.state import TOKENIZERS, PerplexityState
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.components.table import add_table, column
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget

_SHORT: Mapping[Kind, str] = {"char": "characters", "bytes": "bytes", "bpe": "BPE", "word": "words"}


def tokenizer_controls(session: PageSession[PerplexityState]) -> None:
    """Draw the choice of the tokenizers, their vocabulary, and of what is counted."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "tokens", st.pills, selection_mode="multi", update=PerplexityState.with_tokens)
        bind_widget(session, "vocabulary", st.select_slider, width=260)
        bind_widget(session, "omitted", st.segmented_control)


def tokenizer_section(state: PerplexityState, text: TextConfig) -> None:
    """Draw the loss of the n-gram for each tokenizer: bars in the comparable unit, a table of the others."""
    settings = text_run("ngram").model
    assert isinstance(settings, NgramTextConfig)
    tasks = state.tasks(text)
    requests: dict[str, Request[TokenizerLoss]] = {
        kind: (("tokenizer loss", text.text, task), partial(measure_tokenizer_loss, task, settings))
        for kind, task in tasks.items()
    }
    result_section(
        "perplexity-tokenizers",
        requests,
        partial(_draw_bars, state.omitted == "counted", settings.n, int(state.vocabulary)),
        "The n-gram is fitted to the text once for each tokenizer …",
        430,
        pool="patient",  # each takes 200 MB while it counts
        partly=True,
    )


def _draw_bars(
    counted: bool, order: int, vocabulary: int, document: Document, results: Mapping[str, TokenizerLoss]
) -> None:
    """Write the finding, the bars of what can be compared, a table of what cannot, and the caption.

    counted: whether bits per byte contain what no token represents
    order: of the n-gram
    vocabulary: the largest number of tokens
    document, results: as in `result_section`
    """
    losses = {kind: results[kind] for kind in TOKENIZERS if kind in results}
    document.finding(findings.tokenizers_finding(losses, counted))
    measures: list[tuple[str, str, int, Callable[[TokenizerLoss], float]]] = [
        ("loss", "nats per token", 3, lambda each: each.ngram.loss),
        ("perplexity", "perplexity", 1, lambda each: each.ngram.perplexity),
        ("characters", "bits per character", 3, lambda each: each.ngram.bits_per_character),
    ]
    place = document
    if counted:
        left, place = document.columns(2)
        values = [each.bits_per_byte for each in losses.values()]
        figure = bars([_SHORT[kind] for kind in losses], values, 3, "--m-ngram")
        ends = ", ".join(f"{findings.NAMES[kind]} {value:.3f}" for kind, value in zip(losses, values, strict=True))
        panel = Panel("perplexity-bytes", figure, f"Bits per byte of the text as it is: {ends}.", title="Bits per byte")
        add_plot_frame(left, [panel], key="perplexity-bars", height=60 + 46 * len(losses))
    else:
        measures.append(("predicted", "bits per byte", 3, lambda each: each.predicted_bits_per_byte))
    rows = [
        {"tokenizer": _SHORT[kind]} | {name: f"{measure(each):,.{digits}f}" for name, _, digits, measure in measures}
        for kind, each in losses.items()
    ]
    columns = [column("tokenizer", "tokenizer")]
    columns += [column(name, label, "number", minor=name == "characters") for name, label, *_ in measures]
    caption = "These numbers cannot be compared between the rows."
    add_table(place, columns, rows, key="perplexity-units", label="The same loss in other units", caption=caption)
    sentences = [findings.omitted_sentence(kind, each) for kind, each in losses.items()]
    document.caption(
        f"A {order}-gram with modified Kneser–Ney smoothing, fitted to the first nine tenths of the text and evaluated "
        f"on the last tenth in blocks of 64 tokens; at most {vocabulary:,} tokens except for characters. Bits per "
        "character divide the loss by all characters, also by those that no token represents. "
        + " ".join(filter(None, sentences))
    )
