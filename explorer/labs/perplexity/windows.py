"""The same networks on the same text, read with other contexts and strides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import model_row
from explorer.errors import LineageError
from explorer.figures.language.loss_by_context import TRACES_PER_LINE, Line, loss_by_window
from explorer.labs.perplexity import findings
from explorer.labs.perplexity.state import CONTEXTS, STRIDES, PerplexityState
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import empty_panel
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.wording import count_seeds

RUN = "text-best-seeds"
TARGETS = 8_192  # held-out characters that are predicted: three seeds take about 25 s for all contexts and strides
HEIGHT = 320
_LABELS = {1: "blocks", 2: "half", 4: "a quarter"}
_DASHES = {1: "solid", 2: "10px,4px", 4: "2px,4px"}


def window_section(session: PageSession[PerplexityState]) -> None:
    """Draw the loss of an included run by the context and the stride with which the text is read."""
    if not corpora.is_corpus_available("tinyshakespeare"):
        empty_panel("Tiny Shakespeare, which these networks predict, is not on this machine.", 120)
        return
    try:
        run = store.find(RUN)
    except LineageError as error:
        empty_panel(str(error), 120)
        return
    requests: dict[str, Request[Float[ndarray, "strides replicas"]]] = {
        str(context): (("windows", run.key, context), partial(_measure, run, context)) for context in CONTEXTS
    }
    state = session.state
    result_section(
        "perplexity-windows",
        requests,
        partial(_draw_losses, model_row(run.config.model).colour, int(state.context), int(state.stride)),
        "The networks read the held-out text with every context and stride; that takes some seconds …",
        HEIGHT + 160,
        pool="patient",
        partly=True,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "context", st.segmented_control)
        bind_widget(session, "stride", st.segmented_control)


def _measure(run: StoredRun, context: int) -> Float[ndarray, "strides replicas"]:
    from explorer.inspection.language.perplexity import held_out_tokens, losses_by_stride
    from explorer.inspection.load_model import load_model  # here: the page must not wait for torch

    tokens = held_out_tokens(run.config.task_as(TextConfig), TARGETS)
    return losses_by_stride(load_model(run), tokens, context, [context // divisor for divisor in STRIDES])


def _draw_losses(
    colour: str,
    context: int,
    divisor: int,
    document: Document,
    results: Mapping[str, Float[ndarray, "strides replicas"]],
) -> None:
    """Write the finding, the sentences about the selected windows, the lines and the caption.

    colour: of the model
    context, divisor: the selected context, and what divides it to give the selected stride
    document, results: as in `result_section`
    """
    losses = {each: results[str(each)] for each in CONTEXTS if str(each) in results}
    document.finding(findings.windows_finding(losses))
    if context in losses:
        document.text(findings.selected_sentence(context, divisor, losses[context]))
        document.text(findings.stride_sentence(context, losses[context]))
    x, values = np.array(list(losses)), np.stack(list(losses.values()), axis=1)
    lines = [
        Line(_LABELS[each], colour, _DASHES[each], x, np.median(of, -1), of.min(-1), of.max(-1), hollow=each != divisor)
        for each, of in zip(STRIDES, values, strict=True)
    ]
    numbers = "; ".join(f"{line.name} {line.y[0]:.2f} at {x[0]}, {line.y[-1]:.2f} at {x[-1]}" for line in lines)
    panel = Panel(
        "perplexity-windows",
        loss_by_window(lines, context),
        f"Loss in nats per character by context and stride: {numbers}.",
        tracks=value_tracks([(line.name, colour) for line in lines], 3, TRACES_PER_LINE),
    )
    add_plot_frame(document, [panel], key="perplexity-windows-figure", height=HEIGHT, columns=1)
    document.caption(
        "The larger Transformer of Language models, trained on blocks of 128 characters: median, lowest and highest of "
        f"{count_seeds(values.shape[2])}. All figures are of the same {TARGETS:,} characters, the first of the "
        "held-out end. In blocks the first character of a window has one character before it. With a smaller stride "
        "only the characters after the end of the window before count, so each has more context and the text is read "
        "several times."
    )
