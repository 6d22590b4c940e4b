"""Leakage between training and held-out text: by how much it makes an n-gram look better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from explorer import charts, ui
from explorer.charts.style import PAGE, annotation, css_colour, round_values
from explorer.inspection.language.split_leakage import ORDER, LeakageGap, measure_split_leakage, measure_unknown_words
from explorer.labs.tokens import findings
from explorer.labs.tokens.findings import TITLES
from explorer.labs.tokens.state import TokensState
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig

_VOCABULARY = 500
_COLOUR = "--m-ngram"


def leakage_section(session: ui.PageSession[TokensState], config: TextConfig) -> None:
    """Draw by how much a leaky split lowers the loss of an n-gram."""
    ui.explanation(
        "Held-out text shows whether a model predicts new text or has memorized its training text. Two ways to hold "
        "text out leak. Random **windows** overlap, so most of a held-out window is in the training text too. Random "
        "**pairs** of a prefix and its next token come from lines that were also read in training. The same n-gram is "
        "evaluated with each leaky split and with a split without leakage."
    )
    context = max(1, min(64, len(corpora.load_text(config)) // 40))
    task = replace(replace(session.state, vocabulary=_VOCABULARY).task_config(config), context=context)
    calls: dict[str, ui.Call[Any]] = {
        "leaks": ui.Call(measure_split_leakage, task),
        "unknown": ui.Call(measure_unknown_words, task),
    }
    waiting = "The n-gram is being fitted to this text four times; that takes a few seconds …"
    ui.show_each("tokens-leak", calls, leakage_view, task, waiting=waiting, height=330)


def leakage_view(document: ui.Document, results: Mapping[str, Any], task: TextConfig) -> None:
    """Write how far each leaky split lowers the loss, and how many words of held-out lines are unknown."""
    gaps: tuple[LeakageGap, ...] = results["leaks"]
    document.finding(findings.leakage_finding(gaps))
    if measured := [each for each in gaps if not each.problem]:
        panel = ui.Panel("leaks", leakage_chart(measured), title=f"n-gram of order {ORDER}", colour=_COLOUR)
        document.figures("tokens-leaks", [panel], height=100 + 60 * len(measured), columns=1)
    for each in gaps:
        document.text(findings.describe_leak(each))
    if results["unknown"]:
        document.text(findings.describe_unknown_words(results["unknown"]))
    size = "" if task.tokenizer == "char" else f", at most {_VOCABULARY} tokens"
    document.caption(
        f"{TITLES[task.tokenizer]}{size}; rows of {task.context} tokens; a tenth held out; n-gram of order "
        f"{ORDER} with Kneser–Ney smoothing."
    )


def leakage_chart(gaps: Sequence[LeakageGap]) -> charts.Drawing:
    """Return how far leakage moves the score: a filled dot is the honest split, a hollow one the leaky split."""
    colour = css_colour(_COLOUR)
    most = max(value for each in gaps for value in (each.clean_bits, each.leaky_bits))
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [x for each in gaps for x in (*round_values([each.clean_bits, each.leaky_bits]), None)],
            "y": [y for row in range(len(gaps)) for y in (row, row, None)],
            "line": {"color": css_colour(_COLOUR, 0.35), "width": 6},
            "name": "difference",
            "hoverinfo": "skip",
        }
    ]
    labels = []
    # One label above and one below, so that they never overlap.
    for name, values, fill, side, shift in (
        ("honest", [each.clean_bits for each in gaps], colour, "bottom", 9),
        ("leaky", [each.leaky_bits for each in gaps], PAGE, "top", -9),
    ):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": round_values(values),
                "y": list(range(len(gaps))),
                "marker": {"size": 15, "color": fill, "line": {"color": colour, "width": 3}},
                "name": name,
                "hovertemplate": f"%{{x:.3f}} bits<extra>{name}</extra>",
                "cliponaxis": False,
            }
        )
        for row, value in enumerate(values):
            place = {"yanchor": side, "yshift": shift, "xanchor": "left" if value < 0.12 * most else "center"}
            labels.append(annotation(f"{name} {value:.2f}", value, float(row), **place))
    names = ["blocks" if each.rows == "blocks" else "lines" for each in gaps]
    layout = {
        "xaxis": charts.Axis("bits a character of what is held out", (0, 1.02 * most), ticks=6).layout(),
        "yaxis": charts.Axis(span=(len(gaps) - 0.4, -0.6), ticks=dict(enumerate(names))).layout(),
        "annotations": labels,
        "margin": {"l": 8, "r": 48, "t": 12, "b": 8},
    }
    return charts.Drawing(" ".join(map(findings.describe_leak, gaps)), traces, layout)
