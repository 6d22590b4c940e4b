"""A character model of a string that the visitor types, trained at once: with its state, and without."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.figures.comparison import Line
from explorer.figures.recurrent.memory_string import string_loss_figure
from explorer.inspection.compare import median_and_range
from explorer.labs.memory import string_findings as findings
from explorer.labs.memory.state import MemoryState
from explorer.tasks.string import (
    GeneratedError,
    ambiguous_contexts,
    find_errors,
    loss_floor,
    validated_string,
)
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.components.table import column, draw_table
from explorer.ui.document import Document
from explorer.ui.page_sections import empty_panel, escape_markdown, explanation, show_problems
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, draw_examples
from explorer.ui.wording import count_seeds
from explorer.web.background import Pool

SEEDS = 8
EXAMPLES = ("abca abca abca ", "hello hello hello ", "banana", "to be or not to be ", "abcabcabc", "aaaaaa")
QUICK_LENGTH = 40  # characters that are learned in a moment; a longer string takes seconds
HEIGHT, LOSSES_HEIGHT, TEXTS_HEIGHT = 320, 480, 300  # of the chart, and of the sections with all that is in them
NOTE = (
    "Framed: an error, a character that does not follow in the string after the characters before it. The first "
    "character is given. What follows the end of the string was not in training; it is judged by other places of the "
    "string."
)


@dataclass(frozen=True)
class StringTraining:
    """The curves of two trainings on one string: with the state, and with the state reset at every step."""

    text: str
    model: str
    with_state: Curves
    without_state: Curves
    seconds: float  # of both


def configs(text: str, model: str) -> tuple[RunConfig, RunConfig]:
    """Return the configurations with and without the state. Raises InvalidSetting."""
    whole = with_settings(default_config("string", model), {"text": text, "replicas": SEEDS})
    return whole, with_settings(whole, {"recurrent": False})


def train_string(text: str, model: str) -> StringTraining:
    """Train both models now; nothing is stored."""
    from explorer.training.recorder import record_run  # before the clock: the first time it loads torch

    began = time.perf_counter()
    with_state, without_state = (record_run(config).curves for config in configs(text, model))
    return StringTraining(text, model, with_state, without_state, time.perf_counter() - began)


def section(session: PageSession[MemoryState]) -> None:
    """Draw the controls, then the losses and the generated texts of the string."""
    explanation(
        "Type a string: a small network learns to predict its next character. A second one has no memory: its state is "
        "not fed back, so it sees only the current character."
    )
    _draw_inputs(session)
    state = session.state
    try:
        text = validated_string(state.text)
    except LineageError as error:
        show_problems([str(error)])
        empty_panel("Type a string above.", HEIGHT)
        return
    explanation(f"**{escape_markdown(findings.memory_finding(text))}**")
    if len(set(text)) == 1:
        empty_panel("The lowest loss is 0, and every model reaches it. Add another character.", HEIGHT)
        return
    jobs = {"string": (("memory-string", text, state.text_model), partial(train_string, text, state.text_model))}
    pool: Pool = "quick" if len(text) <= QUICK_LENGTH and state.text_model == "rnn" else "usual"
    placeholder = "The networks are learning your string …"
    result_section("memory-string", jobs, partial(_draw_losses), placeholder, LOSSES_HEIGHT, pool=pool)
    seed = _draw_seed_choice(session)
    result_section("memory-texts", jobs, partial(_draw_texts, seed), placeholder, TEXTS_HEIGHT, pool=pool)
    _show_floor(text)


def _draw_inputs(session: PageSession[MemoryState]) -> None:
    """Draw the controls for the string and the model."""
    state = session.state

    def with_text(state: MemoryState, text: str) -> MemoryState:
        # One character stays one, however a keyboard composes it.
        return replace(state, text=unicodedata.normalize("NFC", text))

    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(session, "text", st.text_input, update=with_text, width=330)
        bind_widget(session, "text_model", st.segmented_control)
    st.caption(findings.string_caption(state.text))
    examples = {text: text.strip() for text in EXAMPLES}
    draw_examples(session, "text_pick", "Example strings", state.text, examples, with_text, width="content")


def _draw_seed_choice(session: PageSession[MemoryState]) -> int:
    """Draw the heading of the generated texts beside the choice of a seed, and return that seed."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown("**Generated text**")
        bind_widget(session, "text_seed", st.selectbox, width=100)
        return session.state.text_seed


def _draw_losses(document: Document, results: Mapping[str, StringTraining]) -> None:
    """Write the findings and the losses of the two trainings."""
    training = results["string"]
    title, low = MODELS[training.model].title, loss_floor(training.text)
    with_state, without_state = training.with_state, training.without_state
    transitions = len(training.text) - 1
    finding = (
        findings.final_loss_finding(title, with_state.last("loss"), without_state.last("loss"), low),
        findings.solved_step_finding(with_state.evaluated, with_state.metrics["accuracy"], transitions),
    )
    document.text(" ".join(finding))
    document.caption(
        f"Both were trained in {training.seconds:.2f} s, {count_seeds(SEEDS)} each, when this string was first "
        "requested."
    )
    panel = _loss_panel(training, low)
    add_plot_frame(document, [panel], key="memory-string", height=HEIGHT, narrow_height=260, columns=1)


def _loss_panel(training: StringTraining, low: float) -> Panel:
    """Return the panel of both losses and the floor."""
    row = MODELS[training.model]
    lines: list[Line] = []
    for label, name, dash, curves in (
        ("state", "state fed back", "solid", training.with_state),
        ("no state", "no state", "2px,4px", training.without_state),
    ):
        steps, losses = curves.evaluated[1:], curves.metrics["loss"][1:]  # a logarithmic axis has no step 0
        spread = median_and_range(losses).T
        name = f"{row.title}, {name}"
        lines.append(Line(label, name, row.colour, dash, np.asarray(steps, float), *spread, statistic="median"))
    last = int(training.with_state.evaluated[-1])
    finding = findings.final_loss_finding(
        row.title, training.with_state.last("loss"), training.without_state.last("loss"), low
    )
    return Panel(
        "string-losses",
        string_loss_figure(lines, last, (low, f"lowest without memory {low:.3f}")),
        alt=f"Loss over {last} steps, with and without state. {finding} The lowest loss without memory is {low:.3f}.",
        title="Loss",
        caption="Nats per character. Line: median of eight seeds; band: lowest to highest.",
        tracks=value_tracks([(line.title, line.colour) for line in lines], 3),
    )


def _draw_texts(seed: int, document: Document, results: Mapping[str, StringTraining]) -> None:
    """Write what one seed of each model generates with its errors marked, and the error counts of all seeds."""
    training = results["string"]
    first, row = training.text[0], MODELS[training.model]
    texts = {"state fed back": training.with_state.samples[-1], "no state": training.without_state.samples[-1]}
    errors = {name: [find_errors(training.text, text) for text in written] for name, written in texts.items()}
    characters = len(training.with_state.samples[-1][0])
    document.text(findings.error_count_caption(characters, len(training.text) - 1, *errors.values()))
    data = {
        "texts": [
            {
                "title": f"{row.title}, {name}",
                "detail": f"{len(errors[name][seed])} error{'' if len(errors[name][seed]) == 1 else 's'}",
                "colour": row.colour,
                "first": first,
                "runs": _text_runs(texts[name][seed], errors[name][seed], first),
                "label": f"Text of seed {seed} of the {row.title}, {name}",
            }
            for name in texts
        ],
        "note": NOTE,
        "file": "string-texts",
    }
    document.component("generated_errors", data, key="memory-string-texts")


def _text_runs(text: str, errors: list[GeneratedError], first: str) -> list[dict[str, str | None]]:
    """Return a generated text in pieces: the correct runs, and each error by itself."""
    runs: list[dict[str, str | None]] = []
    end = 0
    for error in errors:
        if error.position > end:
            runs.append({"text": text[end : error.position], "why": None})
        runs.append({"text": text[error.position], "why": findings.error_hint(error, text, first)})
        end = error.position + 1
    return [*runs, {"text": text[end:], "why": None}] if end < len(text) else runs


def _show_floor(text: str) -> None:
    """Draw where the loss floor comes from, with the counts of this string."""
    explanation(
        "The lowest loss without memory: a model that sees only the character c can at best predict the frequencies of "
        "what follows c. Its loss is the entropy of the next character, weighted by how often c occurs among the N "
        "transitions, in nats:"
    )
    st.latex(findings.floor_formula(text))
    contexts = ambiguous_contexts(text)
    if not contexts:
        explanation("Every character of this string is always followed by the same one, so this loss is 0.")
        return
    count = len(text) - 1
    draw_table(
        [
            column("name", "character"),
            column("follow", "followed by", wrap=True),
            column("share", "n / N", "number", minor=True),
            column("entropy", "entropy (nats)", "number", minor=True),
            column("part", "part of the loss", "number"),
        ],
        [
            {
                "name": findings.character_name(context.character),
                "follow": findings.describe_successors(context),
                "share": f"{context.count} / {count}",
                "entropy": findings.entropy_words(context),
                "part": f"{context.count * context.entropy / count:.3f}",
            }
            for context in contexts
        ],
        key="memory-string-contexts",
        label="Characters with several continuations",
        caption="Only characters that are followed by different ones; all others add 0.",
    )
