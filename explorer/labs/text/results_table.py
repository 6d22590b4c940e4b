"""The results of the language models: the n-gram as a baseline, final losses, and overfitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.labs.text import findings
from explorer.labs.text.current_standings import live_or_final_curves
from explorer.labs.text.standings import Standing, convert_loss
from explorer.labs.text.state import UNITS, TextLab
from explorer.run_store.store import StoredRun
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.training.record import Record
from explorer.ui import visitor_text
from explorer.ui.components.table import add_table
from explorer.ui.document import Document
from explorer.ui.held_out_text import CountedText, count_request
from explorer.ui.page_sections import escape_markdown, perplexity_link, untrained_panel
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import ExperimentSession
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import percentage

if TYPE_CHECKING:
    from explorer.inspection.language.bits_per_byte import HeldOutText


def results_section(
    session: ExperimentSession[TextLab], views: Mapping[str, RunView], standings: Mapping[str, Standing]
) -> None:
    """Draw the findings and the table of results."""
    st.header("What came out", anchor=False)
    if not standings:
        untrained_panel(views, "No model has been trained to the end with these settings yet. Press Train.", 120)
        return
    live = any(view.live for view in views.values())
    passing = findings.ngram_passed_finding(standings, live)
    if "ngram" not in standings:
        passing = "No n-gram to compare with: add it to the models."
    alone = f"Only the n-gram has a result: no network has been {'evaluated' if live else 'trained'} yet."
    st.subheader(escape_markdown(passing or alone), anchor=False)
    results_table(session.experiment, views, standings)
    perplexity_link()
    if not live and (comparison := findings.network_comparison_finding(standings)):
        st.markdown(escape_markdown(comparison))
    overfitting = findings.overfitting_finding(standings)
    over = any(each.overfits for model, each in standings.items() if model != "ngram")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(width=760):
            st.markdown(escape_markdown(overfitting))
        if over and not session.experiment.value("patience"):

            def patient() -> None:
                session.change(lambda lab: lab.with_shared(patience=3))

            st.button(
                "Stop early next time",
                icon=":material/front_hand:",
                on_click=patient,
                key="text.early",
                help="Ends a training after three evaluations without a better validation loss.",
            )


def results_table(lab: TextLab, views: Mapping[str, RunView], standings: Mapping[str, Standing]) -> None:
    """Draw a row for each model. Bits per byte follow when the held-out text is counted, in the background."""
    task = lab.task
    rows, means = [], []
    for model, each in standings.items():
        view, counted = views[model], model == "ngram"
        mean = float(np.mean(each.held_out))
        cells = {
            "parameters": f"{view.parameters:,}" if view.parameters else "–",
            "context": loss_context(each.config, brief=True),
            "perplexity": f"{float(convert_loss(np.array(mean), 'perplexity', None)):,.2f}",
            "trained": f"{float(np.mean(each.train_loss)):.3f}",
            "gap": f"{each.gap:.3f}",
            "best": "–" if counted else f"{each.best_step:,}",
            "steps": "counted" if counted else f"{curves.step if (curves := live_or_final_curves(view)) else 0:,}",
            "pace": f"{each.tokens_per_second:,.0f}",
            "seconds": f"{view.seconds:,.1f}" if view.seconds is not None else "–",
        }
        strip = {"text": f"{mean:.3f}", "values": [round(float(v), 4) for v in each.held_out if np.isfinite(v)]}
        name = {"name": {"text": each.row.title, "colour": each.row.colour}, "loss": strip}
        rows.append({**name, **{key: {"text": text} for key, text in cells.items()}})
        means.append(mean)
    losses = [each.held_out for each in standings.values() if np.isfinite(each.held_out).all()]
    requests: dict[str, Request[Any]] = {"table": (("text-results",), lambda: None)}
    if visitor_text.is_available(task):
        requests["text"] = count_request(task)
        for model in standings:
            run = views[model].loaded_run
            if task.test and run:
                requests[model] = ("test split", *views[model].cache_key), partial(_measure_test_losses, run)
    result_section(
        "text-results",
        requests,
        partial(_draw_results, task, tuple(standings), rows, tuple(means), _axis_range(losses), tuple(requests)),
        "The held-out text is being counted and read …",
        130 + 41 * len(rows),
        partly=True,
    )


def _measure_test_losses(run: StoredRun | Record) -> Float[ndarray, " replicas"]:
    from explorer.inspection.language.final_losses import final_test_loss  # needs torch, for which no page waits

    return final_test_loss(run).test


def _draw_results(
    task: TextConfig,
    models: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    means: Sequence[float],
    loss_range: Sequence[float],
    awaited: Sequence[str],
    document: Document,
    results: Mapping[str, Any],
) -> None:
    """Write the table and its caption.

    task: the text and its tokens.
    models: the model of each row.
    rows: cells of each model, without bits per byte and losses on the test split.
    means: the mean loss of each model over its seeds, in nats per token.
    loss_range: ends of the axis of the losses.
    awaited: names of the results that are there or will be: "text", and each model with a loss on the test split.
    document, results: as in `result_section`.
    """
    counted: CountedText | None = results.get("text")
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "", "kind": "model", "align": "left"},
        {"key": "parameters", "label": "parameters", "kind": "number", "align": "right", "minor": True},
        {"key": "context", "label": "context", "kind": "text", "align": "left", "wrap": True},
        {
            "key": "loss",
            "label": UNITS["loss"],
            "kind": "strip",
            "align": "left",
            "range": list(loss_range),
            "wrap": True,
        },
        {"key": "perplexity", "label": UNITS["perplexity"], "kind": "number", "align": "right", "minor": True},
        {"key": "bytes", "label": "bits per byte", "kind": "number", "align": "right", "wrap": True},
        {"key": "trained", "label": "known text", "kind": "number", "align": "right", "minor": True},
        {"key": "gap", "label": "gap", "kind": "number", "align": "right", "minor": True},
        {"key": "best", "label": "best at step", "kind": "number", "align": "right", "minor": True},
        {"key": "steps", "label": "steps", "kind": "number", "align": "right", "minor": True},
        {"key": "pace", "label": "tokens / s", "kind": "number", "align": "right", "minor": True},
        {"key": "seconds", "label": "seconds", "kind": "number", "align": "right", "minor": True},
    ]
    if task.test:
        place = [column["key"] for column in columns].index("bytes") + 1
        columns.insert(place, {"key": "test", "label": "test split", "kind": "number", "align": "right", "wrap": True})
    pending = {name: "…" if name in awaited and name not in results else "–" for name in ("text", *models)}
    bits = [
        f"{float(counted.held_out.bits_per_byte(np.array(mean))):.3f}" if counted else pending["text"] for mean in means
    ]
    test = [f"{results[model].mean():.3f}" if model in results else pending[model] for model in models]
    add_table(
        document,
        columns,
        [
            {"cells": {**cells, "bytes": {"text": one}, "test": {"text": other}}}
            for cells, one, other in zip(rows, bits, test, strict=True)
        ],
        key="text-results",
        label="Results of the race, a row a model",
        caption=f"Losses over all of the {'validation split' if task.test else 'held-out text'}, a dot for each seed; "
        f"known text: a part of the training text. {describe_test_split(task)} "
        f"{comparability_note(task, counted.held_out if counted else None)} "
        "Parameters of the n-gram: entries of its tables.",
    )
    if counted and counted.vocabulary < task.vocabulary and task.tokenizer != "char":
        document.caption(f"{task.vocabulary:,} tokens were wished for; this text gives {counted.vocabulary:,}.")


def describe_test_split(task: TextConfig) -> str:
    """Return what the test split is, or what follows from its absence."""
    if task.test:
        return (
            f"Test split (used for nothing else): nats a token on {percentage(task.test)} of the held-out part, which "
            "no evaluation during training reads."
        )
    return (
        "There is no test split here: evaluations during training have read all of the held-out text, and settings may "
        "have been chosen by them."
    )


def comparability_note(task: TextConfig, held_out: HeldOutText | None) -> str:
    """Return which figure can be compared between tokenizers, and what it adds for text that no token represents.

    held_out: the counted held-out text; None before it is counted.
    """
    sentences = ["Only bits per byte can be compared between tokenizers."]
    if task.tokenizer in ("bpe", "word"):  # they split at spaces, and drop them
        unknown = "words" if task.tokenizer == "word" else "characters"
        spaces = "spaces and line ends" if task.rows == "blocks" else "spaces"
        sentences.append(
            "Bits a character, a unit of the curves, are those of the text that the tokens stand for: unknown "
            f"{unknown} and dropped {spaces} cost nothing there."
        )
        if held_out:
            share = percentage(held_out.unknown / held_out.targets)
            sentences.append(
                f"Bits per byte add {held_out.spelling_bits:.3f} for spelling unknown {unknown} ({share} of the "
                f"held-out tokens) and {held_out.spacing_bits:.3f} for {spaces}, each predicted from neighbouring "
                "characters with frequencies in the training part."
            )
    if task.lower:
        sentences.append("All figures are those of the text in small letters: capital letters cost nothing.")
    return " ".join(sentences)


def _axis_range(losses: list[np.ndarray]) -> list[float]:
    if not losses:
        return [0.0, 1.0]
    low, high = min(float(v.min()) for v in losses), max(float(v.max()) for v in losses)
    edge = max((high - low) * 0.1, 0.01)
    return [round(low - edge, 3), round(high + edge, 3)]
