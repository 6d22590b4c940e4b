"""The same networks on the same text, read with other contexts and strides."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import model_row
from explorer.errors import LineageError
from explorer.inspection.compare import median_and_range
from explorer.inspection.language import perplexity
from explorer.labs.perplexity import findings
from explorer.labs.perplexity.state import CONTEXTS, STRIDES, PerplexityState
from explorer.run_store import store
from explorer.tasks.text import corpora
from explorer.ui.wording import count_seeds

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
        f"{count_seeds(seeds)}. All figures are of the same {TARGETS:,} characters, the first of the "
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
