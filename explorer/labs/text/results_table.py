"""The results of the language models: the n-gram as a baseline, final losses, and overfitting."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from explorer.errors import LineageError
from explorer.labs.text import findings
from explorer.labs.text.current_standings import characters_per_token, live_or_final_curves
from explorer.labs.text.standings import Standing, convert_loss
from explorer.labs.text.state import UNITS, TextLab
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.ui import visitor_text
from explorer.ui.components.table import draw_table
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, untrained_panel
from explorer.ui.result_section import result_section
from explorer.ui.state.session import ExperimentSession
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words, percentage


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
    _unknown_tokens_note(session.experiment)
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
    """Draw a row for each model."""
    characters = characters_per_token(views, lab.task)
    losses = [each.held_out for each in standings.values() if np.isfinite(each.held_out).all()]
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "", "kind": "model", "align": "left"},
        {"key": "parameters", "label": "parameters", "kind": "number", "align": "right"},
        {"key": "context", "label": "context", "kind": "text", "align": "left"},
        {"key": "loss", "label": UNITS["loss"], "kind": "strip", "align": "left", "range": _axis_range(losses)},
        {"key": "perplexity", "label": UNITS["perplexity"], "kind": "number", "align": "right"},
        {"key": "bits", "label": UNITS["bits"], "kind": "number", "align": "right"},
        {"key": "trained", "label": "known text", "kind": "number", "align": "right"},
        {"key": "gap", "label": "gap", "kind": "number", "align": "right"},
        {"key": "best", "label": "best at step", "kind": "number", "align": "right"},
        {"key": "steps", "label": "steps", "kind": "number", "align": "right"},
        {"key": "pace", "label": "tokens / s", "kind": "number", "align": "right"},
        {"key": "seconds", "label": "seconds", "kind": "number", "align": "right"},
    ]
    rows = []
    for model, each in standings.items():
        view, counted = views[model], model == "ngram"
        mean = float(np.mean(each.held_out))
        bits = float(convert_loss(np.array(mean), "bits", characters)) if characters else float("nan")
        cells = {
            "parameters": f"{view.parameters:,}" if view.parameters else "–",
            "context": loss_context(each.config, brief=True),
            "perplexity": f"{float(convert_loss(np.array(mean), 'perplexity', None)):,.2f}",
            "bits": f"{bits:.3f}" if characters else "–",
            "trained": f"{float(np.mean(each.train_loss)):.3f}",
            "gap": f"{each.gap:.3f}",
            "best": "–" if counted else f"{each.best_step:,}",
            "steps": "counted" if counted else f"{curves.step if (curves := live_or_final_curves(view)) else 0:,}",
            "pace": f"{each.tokens_per_second:,.0f}",
            "seconds": f"{view.seconds:,.1f}" if view.seconds is not None else "–",
        }
        strip = {"text": f"{mean:.3f}", "values": [round(float(v), 4) for v in each.held_out if np.isfinite(v)]}
        name = {"name": {"text": each.row.title, "colour": each.row.colour}, "loss": strip}
        rows.append({"cells": {**name, **{key: {"text": text} for key, text in cells.items()}}})
    draw_table(
        columns,
        rows,
        key="text-results",
        label="Results of the race, a row a model",
        caption="Losses over all of the held-out text, a dot for each seed; known text: a part of the training text. "
        f"{comparability_note(lab.task)} Parameters of the n-gram: entries of its tables.",
    )


def comparability_note(task: TextConfig) -> str:
    """Return what can be compared between tokenizers, and what even that comparison leaves out."""
    lost = []
    if task.tokenizer in ("bpe", "word"):  # they split at spaces, and drop them
        lost += ["spaces", "line ends"] if task.rows == "blocks" else ["spaces"]
    if task.lower:
        lost.append("capital letters")
    left_out = f"; here the comparison leaves out {join_words(lost)}, which nobody has to predict" if lost else ""
    return f"Only bits a character can be compared between tokenizers{left_out}."


def _unknown_tokens_note(lab: TextLab) -> None:
    """Draw the share of unknown held-out tokens, and whether the vocabulary is smaller than requested.

    The rows may have to be tokenized first, so this runs in the background.
    """
    task = lab.task
    if task.tokenizer == "char" or not visitor_text.is_available(task):
        return

    request = ("unknown", task.text, task), partial(_count_unknown_tokens, task)
    waiting = "Unknown tokens of the held-out text are being counted …"
    result_section("text-unknown", {"counts": request}, partial(_draw_unknown_tokens, task.vocabulary), waiting, 60)


def _count_unknown_tokens(task: TextConfig) -> tuple[float, int]:
    """Return the share of unknown held-out tokens and the size of the vocabulary."""
    from explorer.tasks.text.rows import text_data  # needs torch, for which no page waits

    try:
        data = text_data(task)
    except LineageError:  # where the rows cannot be made, the training itself says why
        return 0.0, task.vocabulary
    return data.unknown_rate, data.vocabulary


def _draw_unknown_tokens(requested: int, document: Document, results: Mapping[str, tuple[float, int]]) -> None:
    share, tokens = results["counts"]
    if sentence := unknown_tokens_sentence(share):
        document.caption(sentence)
    if tokens < requested:
        document.caption(f"{requested:,} tokens were wished for; this text gives {tokens:,}.")


def unknown_tokens_sentence(share: float) -> str:
    """Return what a share of unknown held-out tokens means; empty if all are known."""
    if not share > 0:
        return ""
    return (
        f"{percentage(share)} of the held-out tokens are unknown to this tokenizer and are not spelled out, so bits a "
        "character flatter it."
    )


def _axis_range(losses: list[np.ndarray]) -> list[float]:
    if not losses:
        return [0.0, 1.0]
    low, high = min(float(v.min()) for v in losses), max(float(v.max()) for v in losses)
    edge = max((high - low) * 0.1, 0.01)
    return [round(low - edge, 3), round(high + edge, 3)]
