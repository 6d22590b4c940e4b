"""The tables of the negation lab: results, every sentence, the trap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from explorer.tasks.negation import CLASSES, Negation
from explorer.ui import runs
from explorer.ui.components import table
from explorer.ui.findings import Verdict, number
from explorer.ui.runs import Lane


def results_table(lanes: Mapping[str, Lane], best: float) -> None:
    """Parameters, seconds, and accuracy on all, plain and negated sentences with a dot for each seed."""
    kinds = {
        "test_accuracy": "all test sentences",
        "test_accuracy_plain": "without “not”",
        "test_accuracy_negated": "with “not”",
    }
    if any(lane.result and "exact_accuracy_held_out" in lane.result.metrics for lane in lanes.values()):
        kinds["exact_accuracy_held_out"] = "the held-out pair"
    lowest = min(
        (
            float(np.nanmin(lane.result.last(k)))
            for lane in lanes.values()
            if lane.result
            for k in kinds
            if _known(lane, k)
        ),
        default=0.5,
    )
    axis = [0.5, 1.0] if lowest >= 0.5 else [0.0, 1.0]
    rows = []
    for lane in lanes.values():
        cells: dict[str, object] = {
            "name": {"text": lane.row.title, "colour": lane.row.colour},
            "parameters": {"text": f"{lane.parameters:,}" if lane.parameters else "–"},
            "seconds": {"text": f"{lane.seconds / lane.config.replicas:.3f}" if lane.seconds and lane.result else "–"},
        }
        for metric in kinds:
            if not _known(lane, metric) or lane.result is None:
                cells[metric] = {"text": "–", "values": []}
                continue
            values = lane.result.last(metric)
            known = [round(float(v), 4) for v in values if not np.isnan(v)]
            mark = best if metric == "test_accuracy" else None
            cells[metric] = {"text": f"{np.nanmean(values):.3f}", "values": known, "mark": mark}
        rows.append({"cells": cells})
    strips = [{"key": k, "label": v, "kind": "strip", "align": "left", "range": axis} for k, v in kinds.items()]
    table(
        [
            {"key": "name", "label": "", "kind": "model", "align": "left"},
            {"key": "parameters", "label": "parameters", "kind": "number", "align": "right"},
            {"key": "seconds", "label": "s / seed", "kind": "number", "align": "right"},
            *strips,
        ],
        rows,
        key="negation-results",
        label="Results of the race, a row a model",
        caption="Accuracy on the test sentences: the mean, and a dot for each seed. Dashed: the ceiling of counting. "
        "Seconds: the whole training divided by its seeds.",
    )


def _known(lane: Lane, metric: str) -> bool:
    return lane.result is not None and metric in lane.result.metrics and not np.isnan(lane.result.last(metric)).all()


def outcome_cell(label: int) -> dict[str, object]:
    """A class as a quiet chip."""
    return {"text": CLASSES[label], "tone": CLASSES[label], "wrong": False}


def _answer_cell(verdict: Verdict, truth: int | None) -> dict[str, object]:
    return {
        "text": f"{CLASSES[verdict.answer]} {verdict.probability:.2f}",
        "tone": CLASSES[verdict.answer],
        "wrong": truth is not None and verdict.answer != truth,
    }


def sentences_table(world: Negation, lanes: Mapping[str, Lane]) -> None:
    """Every sentence of the world, model by model; pairs that differ only in "not" stand together."""
    trained = {model: lane for model, lane in lanes.items() if lane.stored}
    columns: list[dict[str, object]] = [
        {"key": "text", "label": "sentence", "kind": "text", "align": "left"},
        {"key": "truth", "label": "grammar", "kind": "text", "align": "left"},
    ]
    columns += [
        {"key": model, "label": lane.row.title, "kind": "verdict", "align": "left", "colour": lane.row.colour}
        for model, lane in trained.items()
    ]
    rows = []
    for i, sentence in enumerate(world.sentences):
        shown = "" if sentence.train_probability or not sentence.probability else " (held out)"
        cells: dict[str, object] = {
            "text": {"text": sentence.text + shown},
            "truth": {"text": CLASSES[sentence.label]},
        }
        for model, lane in trained.items():
            verdict = Verdict(lane.row.title, lane.row.colour, runs.sustain(lane.stored, sentence.words))  # type: ignore[arg-type]
            cells[model] = _answer_cell(verdict, sentence.label)
        rows.append({"rule": i > 0 and sentence.nots == 0, "cells": cells})
    table(
        columns,
        rows,
        key="negation-sentences",
        label="Every sentence of the grammar through every model",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )


def trap_table(
    alone: Sequence[Verdict], beside: Sequence[Verdict], sentence: str, extra: int, truth: int | None
) -> None:
    """The same sentence alone, and filled up beside a longer one."""
    table(
        [
            {"key": "name", "label": f"“{sentence[:60]}”", "kind": "model", "align": "left"},
            {"key": "alone", "label": "alone", "kind": "verdict", "align": "left"},
            {"key": "seeds-alone", "label": "seeds, P(sustain)", "kind": "strip", "align": "left", "range": [0, 1]},
            {
                "key": "beside",
                "label": f"beside a sentence {number(extra)} token{'s' if extra > 1 else ''} longer",
                "kind": "verdict",
                "align": "left",
            },
            {"key": "seeds-beside", "label": "seeds, P(sustain)", "kind": "strip", "align": "left", "range": [0, 1]},
        ],
        [
            {
                "cells": {
                    "name": {"text": a.title, "colour": a.colour},
                    "alone": _answer_cell(a, truth),
                    "seeds-alone": {"text": "", "values": [round(float(v), 4) for v in a.sustain]},
                    "beside": _answer_cell(b, truth),
                    "seeds-beside": {"text": "", "values": [round(float(v), 4) for v in b.sustain]},
                }
            }
            for a, b in zip(alone, beside, strict=True)
        ],
        key="negation-trap",
        label="The same sentence alone and in company",
        caption="The answer with its mean probability over the seeds. Framed: wrong.",
    )
