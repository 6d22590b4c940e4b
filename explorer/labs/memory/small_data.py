"""Small data: a character model of a string that the visitor types, and the accuracy on the training sequences."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.experiments.recall import NOTEBOOK_STEPS, notebook_configs
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.labs.memory import findings, recall, string_findings
from explorer.labs.memory.state import MemoryState
from explorer.tasks.string import GeneratedError, ambiguous_contexts, find_errors, loss_floor, validated_string
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.record import Curves
from explorer.ui.state.widgets import draw_examples
from explorer.ui.training.learning_chart import step_axis
from explorer.ui.wording import count_seeds
from explorer.web.background import Pool

SEEDS = 8
EXAMPLES = ("abca abca abca ", "hello hello hello ", "banana", "to be or not to be ", "abcabcabc", "aaaaaa")
QUICK_LENGTH = 40  # characters that are learned in a moment; a longer string takes seconds
HEIGHT = 320  # of the chart
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


def string_section(session: ui.PageSession[MemoryState]) -> None:
    """Draw the controls, then the losses and the generated texts of the string."""
    ui.explanation(
        "Type a string: a small network learns to predict its next character. A second one has no memory: its state is "
        "not fed back, so it sees only the current character."
    )
    _draw_inputs(session)
    state = session.state
    try:
        text = validated_string(state.text)
    except LineageError as error:
        ui.show_problems([str(error)])
        ui.empty_panel("Type a string above.", HEIGHT)
        return
    ui.explanation(f"**{ui.escape_markdown(string_findings.memory_finding(text))}**")
    if len(set(text)) == 1:
        ui.empty_panel("The lowest loss is 0, and every model reaches it. Add another character.", HEIGHT)
        return
    call, waiting = ui.Call(train_string, text, state.text_model), "The networks are learning your string …"
    pool: Pool = "quick" if len(text) <= QUICK_LENGTH and state.text_model == "rnn" else "usual"
    ui.show("memory-string", call, losses_view, waiting=waiting, height=480, pool=pool)
    seed = _draw_seed_choice(session)
    ui.show("memory-texts", call, texts_view, seed, waiting=waiting, height=300, pool=pool)
    _show_floor(text)


def _draw_inputs(session: ui.PageSession[MemoryState]) -> None:
    state = session.state

    def with_text(state: MemoryState, text: str) -> MemoryState:
        # One character stays one, however a keyboard composes it.
        return replace(state, text=unicodedata.normalize("NFC", text))

    with st.container(horizontal=True, vertical_alignment="top"):
        ui.bind_widget(session, "text", st.text_input, update=with_text, width=330)
        ui.bind_widget(session, "text_model", st.segmented_control)
    ui.caption(string_findings.string_caption(state.text))
    examples = {text: text.strip() for text in EXAMPLES}
    draw_examples(session, "text_pick", "Example strings", state.text, examples, with_text, width="content")


def _draw_seed_choice(session: ui.PageSession[MemoryState]) -> int:
    """Draw the heading of the generated texts beside the choice of a seed, and return that seed."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown("**Generated text**")
        ui.bind_widget(session, "text_seed", st.selectbox, width=100)
        return session.state.text_seed


def losses_view(document: ui.Document, training: StringTraining) -> None:
    """Write the findings and the losses of the two trainings."""
    title, low = MODELS[training.model].title, loss_floor(training.text)
    with_state, without_state = training.with_state, training.without_state
    transitions = len(training.text) - 1
    finding = (
        string_findings.final_loss_finding(title, with_state.last("loss"), without_state.last("loss"), low),
        string_findings.solved_step_finding(with_state.evaluated, with_state.metrics["accuracy"], transitions),
    )
    document.text(" ".join(finding))
    document.caption(
        f"Both were trained in {training.seconds:.2f} s, {count_seeds(SEEDS)} each, when this string was first "
        "requested."
    )
    caption = "Nats per character. Line: median of eight seeds; band: lowest to highest."
    panel = ui.Panel("string-losses", loss_chart(training, low), title="Loss", caption=caption)
    document.figures("memory-string", [panel], height=HEIGHT, narrow_height=260, columns=1)


def loss_chart(training: StringTraining, low: float) -> charts.LineChart:
    """Return both losses by step, and the lowest one without memory."""
    row, lines = MODELS[training.model], []
    for label, words, dash, curves in (
        ("state", "state fed back", "solid", training.with_state),
        ("no state", "no state", "2px,4px", training.without_state),
    ):
        steps, losses = curves.evaluated[1:], curves.metrics["loss"][1:]  # a logarithmic axis has no step 0
        lines.append(charts.Line(label, words, row.colour, dash, steps, median_and_range(losses), name=words))
    first, last = int(training.with_state.evaluated[1]), int(training.with_state.evaluated[-1])
    ticks = [first, *(step for step in (10, 50, 200, 1000) if first < step <= last)]
    high = max(1.05 * charts.span_of([line.values for line in lines], 0.0)[1], 1e-3)
    return charts.LineChart(
        f"Loss of the {row.title} by step",
        lines,
        charts.Axis("step", (first, last), log=True, ticks={step: str(step) for step in ticks}),
        charts.Axis("nats per character", (-0.02 * high, high), ticks=4),
        [charts.level(low, f"lowest without memory {low:.3f}", right=True)],
        margin=84,
        digits=3,
    )


def texts_view(document: ui.Document, training: StringTraining, seed: int) -> None:
    """Write what one seed of each model generates with its errors marked, and the error counts of all seeds."""
    first, row = training.text[0], MODELS[training.model]
    texts = {"state fed back": training.with_state.samples[-1], "no state": training.without_state.samples[-1]}
    errors = {name: [find_errors(training.text, text) for text in written] for name, written in texts.items()}
    characters = len(training.with_state.samples[-1][0])
    document.text(string_findings.error_count_caption(characters, len(training.text) - 1, *errors.values()))
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
        runs.append({"text": text[error.position], "why": string_findings.error_hint(error, text, first)})
        end = error.position + 1
    return [*runs, {"text": text[end:], "why": None}] if end < len(text) else runs


def _show_floor(text: str) -> None:
    """Draw where the loss floor comes from, with the counts of this string."""
    ui.explanation(
        "The lowest loss without memory: a model that sees only the character c can at best predict the frequencies of "
        "what follows c. Its loss is the entropy of the next character, weighted by how often c occurs among the N "
        "transitions, in nats:"
    )
    st.latex(string_findings.floor_formula(text))
    ui.draw_now(contexts_view, text)


def contexts_view(document: ui.Document, text: str) -> None:
    """Write a table of the characters that are followed by different ones."""
    contexts, count = ambiguous_contexts(text), len(text) - 1
    if not contexts:
        document.text("Every character of this string is always followed by the same one, so this loss is 0.")
    columns = {
        "name": charts.Column("character"),
        "follow": charts.Column("followed by", wrap=True),
        "share": charts.Column("n / N", "number", minor=True),
        "entropy": charts.Column("entropy (nats)", "number", minor=True),
        "part": charts.Column("part of the loss", "number"),
    }
    rows = [
        {
            "name": string_findings.character_name(context.character),
            "follow": string_findings.describe_successors(context),
            "share": f"{context.count} / {count}",
            "entropy": string_findings.entropy_words(context),
            "part": f"{context.count * context.entropy / count:.3f}",
        }
        for context in contexts
    ]
    caption = "Only characters that are followed by different ones; all others add 0."
    document.table(
        "memory-string-contexts", charts.Table(columns, rows, "Characters with several continuations", caption)
    )


_ACCURACIES = {
    "train_accuracy": ("training", "training sequences", "6px,4px"),
    "accuracy": ("new", "new sequences", "solid"),
}


def train_set_section() -> None:
    """Draw the accuracy on the training sequences compared with new ones."""
    request, configs = ui.TrainRequest.for_section("trap"), notebook_configs()
    views = request.views(configs)
    finished = {model: view.result for model, view in views.items() if view.result is not None and ui.is_finished(view)}
    if finding := findings.train_set_finding(finished):
        ui.explanation(f"**{ui.escape_markdown(finding)}**")
    ui.explanation(
        "Both networks train on the same 256 sequences of 50 symbols in every step. Accuracy on the training sequences "
        "alone would look like success."
    )
    ui.show_problems(request.problems)
    ui.draw_train_controls(request, configs)
    ui.draw_learning_chart(
        "memory-trap",
        request,
        configs,
        _accuracy_panels,
        f"Line: median of eight seeds. Band: lowest to highest seed. Dashed line: guessing. Vertical line: step "
        f"{NOTEBOOK_STEPS}. {findings.train_set_caption(finished)}".strip(),
        axis=partial(step_axis, step=5.0),
        height=260,
        narrow_height=210,
        columns=2,
    )


def _accuracy_panels(views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    last = ui.last_step(views)
    return [_accuracy_panel(model, view.curves, last) for model, view in views.items()]


@cached()
def _accuracy_panel(model: str, curves: Curves | None, last: int) -> ui.Panel:
    row, lines = MODELS[model], []
    for name, (label, words, dash) in _ACCURACIES.items():
        x, *values = metric_over_seeds(curves, name, median_and_range)
        lines.append(charts.Line(label, words, row.colour, dash, x, np.stack(values, axis=1), name=words))
    subject, marks = f"{row.title}, accuracy by step", [charts.limit(NOTEBOOK_STEPS)]
    chart = recall.accuracy_chart(subject, lines, recall.step_axis(last), 0.5, marks)
    return ui.Panel(f"trap-{model}", chart, title=row.title, colour=row.colour)


def small_data_section(session: ui.PageSession[MemoryState]) -> None:
    """Draw both experiments."""
    st.subheader("A language model of one string", anchor=False)
    string_section(session)
    st.subheader("Accuracy on the training sequences and on new ones", anchor=False)
    train_set_section()
