"""Bracket accuracy: closing marks predicted correctly, by the distance to their opening mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.inspection.language import bracket_accuracy
from explorer.tasks.text.config import TextConfig
from explorer.ui.language_lines import (
    HEIGHT,
    NARROW,
    band_caption,
    missing_models,
    model_line,
    seed_values,
    without_weights,
)
from explorer.ui.wording import join_words

_FAR = 16  # characters that neither an n-gram nor a short window reaches


def bracket_section(views: Mapping[str, ui.RunView]) -> None:
    """Draw the accuracy of closing marks by their distance from the opening mark."""
    runs = ui.loaded_runs(views, "No model has been trained to the end on the brackets yet.", HEIGHT)
    if not runs:
        return
    ui.show_each(
        "text-closing",
        {name: ui.Call(bracket_accuracy.run_bracket_accuracy, run) for name, run in runs.items()},
        accuracies_view,
        without_weights(views),
        waiting="The accuracy at closing marks is being measured; that takes a few seconds …",
        height=HEIGHT + 120,
    )
    ui.explanation(
        "The last mark that is still open decides which mark must close. An n-gram sees it only among its last n − 1 "
        "tokens. A recurrent network must keep all open marks in a state that every character changes. Attention can "
        "read every earlier mark, but must find out which of them are still open."
    )


def is_bracket_task(task: TextConfig) -> bool:
    """Return whether the task is the text of brackets in characters, with its end held out."""
    return (task.corpus, task.tokenizer, task.rows, task.split) == ("brackets", "char", "blocks", "end")


def accuracies_view(
    document: ui.Document, accuracies: Mapping[str, bracket_accuracy.BracketAccuracy], without: Sequence[str]
) -> None:
    """Write the finding, the lines and the caption. `without`: titles of the models without weights."""
    finite = {name: each for name, each in accuracies.items() if len(each.accuracy) and len(each.bin_ends)}
    if not next(iter(accuracies.values())).counts.sum():
        document.text("No mark closes in the held-out end of this text. Hold out more of it, or make it longer.")
        return
    if finite:
        document.finding(bracket_finding({MODELS[name].title: each for name, each in finite.items()}))
        panel = ui.Panel("accuracy-by-distance", distance_chart(finite))
        document.figures("text-closing", [panel], columns=1, height=HEIGHT, narrow_height=NARROW)
    document.caption(_method_caption(without, accuracies))


def distance_chart(accuracies: Mapping[str, bracket_accuracy.BracketAccuracy]) -> charts.LineChart:
    """Return the share of marks that each model closes rightly, by the distance to the opening mark."""
    first, longest = next(iter(accuracies.values())), max(int(each.bin_ends[-1]) for each in accuracies.values())
    rules = [charts.level(first.baseline, f"always {first.baseline_mark} {first.baseline:.2f}", below=True)]
    if first.context < longest:
        rules.append(charts.limit(first.context, "read", left=True, bottom=True))
    return charts.LineChart(
        "Share of marks closed correctly, from the shortest to the longest distance",
        [
            model_line(name, each.bin_ends, np.clip(seed_values(each.accuracy, each.error), 0, 1))
            for name, each in accuracies.items()
        ],
        charts.Axis("characters since it was opened, up to", log=True, ticks=charts.doubling_ticks(2, longest)),
        replace(charts.ACCURACY, title="closed rightly"),
        rules,
        margin=118,
        digits=3,
    )


def bracket_finding(accuracies: Mapping[str, bracket_accuracy.BracketAccuracy]) -> str:
    """Return which models know the open mark over long distances. `accuracies`: by title.

    A model with a shorter context was asked at fewer positions, and may lack the bins of another.
    """
    floor = _FAR if any((each.bin_ends > _FAR).any() for each in accuracies.values()) else 0
    near = [int(last) for each in accuracies.values() for last in each.bin_ends[each.bin_ends <= floor]]
    where = f"From {max(near) + 1} characters on" if near else "At these distances"
    # A model without positions at these distances (NaN) is left out.
    every = [(each.accuracy_over(each.bin_ends > floor), title) for title, each in accuracies.items()]
    shares = sorted((pair for pair in every if not np.isnan(pair[0][0])), key=lambda pair: -pair[0][0])
    better = [title for (share, error), title in shares if share > accuracies[title].baseline + 2 * error]
    if not better:
        return f"{where}, no model knows which mark is open."
    only = "only " * (len(better) < len(shares))
    return f"{where}, {only}{join_words(better)} know{'s' * (len(better) == 1)} which mark is open."


def _method_caption(without: Sequence[str], accuracies: Mapping[str, bracket_accuracy.BracketAccuracy]) -> str:
    first = next(iter(accuracies.values()))
    complete = all(each.is_complete for each in accuracies.values())
    asked = sorted({int(each.counts.sum()) for each in accuracies.values()})
    many = f"{asked[0]:,}" if len(asked) == 1 else f"{asked[0]:,} to {asked[-1]:,}, fewer for more seeds"
    parts = [
        f"{'Every position' if complete else 'An evenly spread part of the positions'} of the held-out end at which a "
        f"mark closes another ({many}). Every model reads the {first.context} characters before it, recurrent networks "
        "from a zero state; its answer is the most probable of the four closing marks.",
        band_caption([len(e.accuracy) for e in accuracies.values()], "one standard error of a share (binomial)"),
        *missing_models(without, {name: each.diverged for name, each in accuracies.items()}),
    ]
    return " ".join(parts)
