"""What came out of a race of language models: who passed the counts, a table with a row a model, who overfits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.tasks.text import TextConfig
from explorer.ui import text_findings, texts
from explorer.ui.components import table
from explorer.ui.findings import listed
from explorer.ui.page import empty_panel, plain
from explorer.ui.runs import Lane
from explorer.ui.session import LabSession
from explorer.ui.slowly import eventually
from explorer.ui.text_lab import UNITS, TextLab
from explorer.ui.text_standings import Standing, characters_per_token, in_unit
from explorer.ui.token_findings import rate


def results_section(session: LabSession[TextLab], lanes: Mapping[str, Lane], found: Mapping[str, Standing]) -> None:
    """What came out, a row a model."""
    st.header("What came out", anchor=False)
    if not found:
        empty_panel("Nothing has been trained under these settings yet. Press Train.", 120)
        return
    passing = text_findings.passing(found, live=any(lane.live for lane in lanes.values()))
    if "ngram" not in found:
        passing = "No counts to compare with: add the n-gram."
    st.subheader(plain(passing or "The counts stand alone: no network has been trained yet."), anchor=False)
    results_table(session.lab, lanes, found)
    tokens_part(session.lab)
    told = text_findings.overfitting(found)
    over = any(each.overfits for model, each in found.items() if model != "ngram")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(width=760):
            st.markdown(plain(told))
        if over and not session.lab.value("patience"):

            def patient() -> None:
                session.change(lambda lab: lab.with_shared(patience=3))

            st.button(
                "Stop early next time",
                icon=":material/front_hand:",
                on_click=patient,
                key="text.early",
                help="Ends a training after three evaluations without a better validation loss.",
            )


def results_table(lab: TextLab, lanes: Mapping[str, Lane], found: Mapping[str, Standing]) -> None:
    characters = characters_per_token(lanes, lab.task)
    losses = [each.held_out for each in found.values() if np.isfinite(each.held_out).all()]
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "", "kind": "model", "align": "left"},
        {"key": "parameters", "label": "parameters", "kind": "number", "align": "right"},
        {"key": "loss", "label": UNITS["loss"], "kind": "strip", "align": "left", "range": _range(losses)},
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
    for model, each in found.items():
        lane, counted = lanes[model], model == "ngram"
        mean = float(np.mean(each.held_out))
        bits = float(in_unit(np.array(mean), "bits", characters)) if characters else float("nan")
        cells = {
            "parameters": f"{lane.parameters:,}" if lane.parameters else "–",
            "perplexity": f"{float(in_unit(np.array(mean), 'perplexity', None)):,.2f}",
            "bits": f"{bits:.3f}" if characters else "–",
            "trained": f"{float(np.mean(each.trained)):.3f}",
            "gap": f"{each.gap:.3f}",
            "best": "–" if counted else f"{each.best_step:,}",
            "steps": "counted" if counted else f"{lane.curves.step if lane.curves else 0:,}",
            "pace": f"{each.pace:,.0f}",
            "seconds": f"{lane.seconds:,.1f}" if lane.seconds is not None else "–",
        }
        strip = {"text": f"{mean:.3f}", "values": [round(float(v), 4) for v in each.held_out if np.isfinite(v)]}
        name = {"name": {"text": each.row.title, "colour": each.row.colour}, "loss": strip}
        rows.append({"cells": {**name, **{key: {"text": text} for key, text in cells.items()}}})
    table(
        columns,
        rows,
        key="text-results",
        label="Results of the race, a row a model",
        caption="Losses over all of the held-out text, a dot for each seed; known text: a part of the training text. "
        f"{compared(lab.task)} Parameters of the n-gram: entries of its tables.",
    )


def compared(task: TextConfig) -> str:
    """What can be compared between tokenizers, and what even that leaves out."""
    lost = []
    if task.tokenizer in ("bpe", "word"):  # they split at spaces, and drop them
        lost += ["spaces", "line ends"] if task.rows == "blocks" else ["spaces"]
    if task.lower:
        lost.append("capital letters")
    left_out = f"; here the comparison leaves out {listed(lost)}, which nobody has to predict" if lost else ""
    return f"Only bits a character can be compared between tokenizers{left_out}."


def tokens_part(lab: TextLab) -> None:
    """How much of the held-out text the tokenizer does not know, and whether the text gave as many tokens as were
    wished for. The rows may still have to be made: on a thread."""
    task = lab.task
    if task.tokenizer == "char" or not texts.readable(task):
        return

    def make() -> tuple[float, int]:
        from explorer.tasks.windows import text_data  # needs torch, for which no page waits

        data = text_data(task)
        return data.unknown_rate, data.vocabulary

    def draw(made: tuple[float, int]) -> None:
        share, tokens = made
        fewer = f"{task.vocabulary:,} tokens were wished for; this text gives {tokens:,}."
        if told := " ".join(filter(None, [unknown(share), fewer if tokens < task.vocabulary else ""])):
            st.caption(plain(told))

    meanwhile = "Unknown tokens of the held-out text are being counted …"
    # Where the rows cannot be made, the training itself says why.
    eventually("text-unknown", ("unknown", task.text, task), make, draw, meanwhile, 60, refused=lambda error: None)


def unknown(share: float) -> str:
    """What it means that this share of the held-out tokens is unknown; nothing where all are known."""
    if not share > 0:
        return ""
    return (
        f"{rate(share)} of the held-out tokens are unknown to this tokenizer and are not spelled out, so bits a "
        "character flatter it."
    )


def _range(losses: list[np.ndarray]) -> list[float]:
    if not losses:
        return [0.0, 1.0]
    low, high = min(float(v.min()) for v in losses), max(float(v.max()) for v in losses)
    edge = max((high - low) * 0.1, 0.01)
    return [round(low - edge, 3), round(high + edge, 3)]
