"""What a figure shows: one table of parts with given values for all figures, then what each has of its own."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy import ndarray

from explorer.figures.attention import layers_and_heads, patching
from explorer.figures.comparison import Line, comparison_figure
from explorer.figures.language import dynamic_evaluation as dynamic
from explorer.figures.language import loss_by_context, perplexity, temperature, text, tokens
from explorer.figures.recurrent import memory_gradients, memory_string, recall
from explorer.figures.runs import experiments, growth
from explorer.figures.runs.learning_curves import learning_curve
from explorer.figures.seq2seq import translation
from explorer.figures.seq2seq.translation_steps import curves_by_position, teacher_forcing_lines
from explorer.figures.transformer import cost, depth, induction, masks, positions, scaled_attention, structure
from explorer.figures.words import linear_readout_ceiling as ceilings
from explorer.figures.words import model_internals as internals
from explorer.figures.words import sense_similarity as senses
from explorer.figures.words import word_vectors as vectors
from explorer.labs.sentence_encoder.state import MAX_REAL_SENTENCES
from explorer.lessons.measures import MOST_SENTENCES
from explorer.models.structure import ModelStructure, StackStructure

NAN, INF = math.nan, math.inf
A = np.array


def line(label: str, y: tuple[float, ...], x: tuple[float, ...] = (0, 10, 20), dash: str = "3px,3px") -> Line:
    mean = A(y, float)
    return Line(label, "RNN", "--m-rnn", dash, A(x, float), mean, mean - 0.1, mean + 0.1)


def context_line(name: str, *y: float, band: bool = True, hollow: bool = False) -> loss_by_context.Line:
    values = A(y, float)
    ends = (values - 0.1, values + 0.1) if band else (None, None)
    return loss_by_context.Line(name, "--m-rnn", "3px,3px", A([1, 4, 64]), values, *ends, hollow)


def cost_line(name: str, *y: float, hollow: bool = False) -> cost.CostLine:
    return cost.CostLine(name, "--m-gru", "solid", A([32, 64, 128]), A(y, float), 2.0 * A([32, 64, 128]), hollow)


def growth_line(name: str, *mean: float) -> growth.GrowthLine:
    x, y = 10.0 ** (3 + np.arange(len(mean))), A(mean)
    return growth.GrowthLine(name, "--m-gru", "solid", x, y, y - 0.1, y + 0.1)


def final_values(label: str, dash: str, *values: list[float]) -> experiments.FinalValues:
    return experiments.FinalValues(label, "x", "--m-rnn", dash, A(values))


def final_figure(*lines: experiments.FinalValues, top: float = 6.0, reference: Any = None) -> go.Figure:
    labels = ["0.1", "0.3", "1"][: len(lines[0].values)]
    return experiments.final_values_figure(lines, labels, "learning rate", (2.5, top), reference)


def falling(label: str, last: int) -> Line:
    """Return a line that is 1 up to a length and 0 after it."""
    x = np.arange(1.0, 11.0)
    mean = np.where(last >= x, 1.0, 0.0)
    return Line(label, label, "--m-gru", "solid", x, mean, mean, mean)


def accuracies(*seeds: list[float]) -> list[ceilings.FinalAccuracy]:
    return [ceilings.FinalAccuracy(f"model {i}", "--m-rnn", values) for i, values in enumerate(seeds)]


READ = np.arange(64, 20_033, 64)


def mean_until_end(*ends: float) -> list[dynamic.RunningMean]:
    return [dynamic.RunningMean(READ, np.full(len(READ), end)) for end in ends]


LEARNED, (STOOD,) = dynamic.RunningMean(READ, 2.3 - 0.05 * READ / READ[-1]), mean_until_end(2.31)
LONGER = dynamic.RunningMean(np.arange(16, 40_001, 16), np.full(2_500, 2.28))


def adapting(a: Any, b: Any, y: tuple[float, float] = (2.2, 2.4), ngram: Any = None) -> go.Figure:
    lines = (*ngram, "--m-ngram", "8px,3px,2px,3px") if ngram else None
    return dynamic.dynamic_evaluation_figure(a, b, "--m-gru", y, "characters read", "bits", lines)


WORDS, ESCAPED = ("<BOS>", "human", "not", "destroy"), ["&lt;BOS&gt;", "human", "not", "destroy"]
CHANCES = [i / 20 for i in range(1, 20)]
CEILINGS = [1 - min(p, 1 - p) / 3 for p in CHANCES]
LEADS = [2 / 3 if 0.4 < p < 0.6 else c for p, c in zip(CHANCES, CEILINGS, strict=True)]
SAME, OTHER = A([[0.9, 0.9, 0.95], [0.9, 0.8, 0.85]]), A([[0.9, 0.7, 0.2], [0.9, 0.5, 0.4]])
MEASURE = temperature.TextMeasure("RNN", "--m-rnn", "3px,3px", A([[0.1, 0.3], [0.5, 0.5], [0.8, 1.0]]))
HEADS = [
    depth.HeadMeasure("trained", "--m-transformer", "solid", A([[NAN] * 3, [0.2, 0.45, 0.25], [0.5, 0.9, 0.6]])),
    depth.HeadMeasure("untrained", "--soft", "6px,4px", A([[NAN] * 2, [0.02, 0.03], [0.61, 0.62]])),
]
GIVEN, OWN = A([[1.0, 0.8, 0.6], [1.0, 0.6, 0.8]]), A([[1.0, 0.4, 0.0], [0.8, 0.2, 0.2]])
RECALL = [
    line("open", (1, 1, 1, 1), (1, 10, 50, 1_000), "solid"),
    line("usual", (0.5,) * 4, (1, 10, 50, 1_000), "6px,4px"),
]
BPE, CHARACTERS = (
    tokens.TokenizerLine("BPE", "solid", np.arange(65, 2001), np.log(np.arange(65, 2001))),
    tokens.TokenizerLine("Characters", "solid", A([65]), A([1.0])),
)
WIDTHS = (1, 4, 16)
BY_WIDTH, _ = scaled_attention.quantity_by_width(
    WIDTHS, np.arange(1, 19).reshape(2, 3, 3) / 20, scaled_attention.Axis((0.0, 1.0), (0.0, 1.0), (0.9, "even")), 0
)
STEPS = A([0.0, 10.0, 20.0])


def curve(values: Any, ceiling: tuple[float, str] | None = None) -> go.Figure:
    epochs = [0, 0.25, 1, 3.5]  # a checkpoint is not always at the end of an epoch
    return learning_curve(
        A(epochs[: len(values)], float), A(values), "RNN", "--m-rnn", "3px,3px", 25, (0.42, 1.03), ceiling
    )


def losses(best: float | None) -> go.Figure:
    held_out, trained = A([3.0, 1.5, 1.6]), A([3.0, 1.4, NAN])
    return text.train_and_held_out_loss(STEPS, held_out, trained, "GRU", "--m-gru", 40, (1.0, 3.0), best)


def mask_losses(by_position: bool, end: float, floor: tuple[float, str] | None) -> go.Figure:
    return masks.loss_figure([line("without", (0.1, 0.2, 3.0), (1, 2, 3))], by_position, end, (0.01, 8.0), floor)


def ratios(*marked: float) -> list[tuple[str, float]]:
    return [("--m-rnn", height) for height in marked]


SEEDS = A([[0.5, 0.4, 0.6], [0.7, 0.5, 0.9], [0.8, 0.8, 0.8], [1.0, 0.7, 1.0]])
FIGURES: dict[str, tuple[go.Figure, dict[str, Any]]] = {
    "rollout map": (
        layers_and_heads.rollout_map(A([[1.0, NAN], [0.05, 0.95]]), ["a", "b"]),
        {"data.0.showscale,text": [True, [["1.00", ""], ["", "0.95"]]]},
    ),
    "logit lens": (
        layers_and_heads.logit_lens(
            ["embedding", "layer 1"], ["x", "y"], [["a", "<i>"], ["c", "d"]], A([[0.1, 0.2], [0.3, 1.0]])
        ),
        {
            "data.0.z,text,zmin,zmax": [[[0.1, 0.2], [0.3, 1.0]], [["a", "&lt;i&gt;"], ["c", "d"]], 0, 1],
            "layout.yaxis.range": [-0.5, 1.5],
        },
    ),
    "head importance, with two standard errors": (
        layers_and_heads.head_importance(
            ["a", "b", "c"], A([0.1, 0.5, -0.2]), A([0.01, 0.02, 0.03]), "--m-transformer", "rise"
        ),
        {
            "data.0.x": [0.5, 0.1, -0.2],
            "data.0.error_x.array": [0.04, 0.02, 0.06],
            "layout.yaxis.ticktext": ["b", "a", "c"],
        },
    ),
    "map of shares": (
        patching.share_map(
            ["embedding", "layer 1", "layer 2"],
            ["king / queen", "<of>"],
            A([[1.0, 0.01], [-0.3, NAN], [1.4, 0.5]]),
            (2, 1),
            legend=True,
        ),
        {
            "data.0.zmin,zmax,autocolorscale,z": [-1, 1, True, [[1.0, 0.01], [-0.3, None], [1.4, 0.5]]],
            "data.0.text": [["1.00", ""], ["-0.30", ""], ["1.40", "0.50"]],
            "data.0.hovertext.0": ["embedding, king / queen: 1.00", "embedding, &lt;of&gt;: 0.01"],
            "layout.xaxis.ticktext": ["king / queen", "&lt;of&gt;"],
            "layout.shapes.*.x0,x1,y0,y1": [[0.5, 1.5, 1.5, 2.5]],
            "data.0.colorbar.ticktext.0": "−1",
        },
    ),
    "answers to both texts": (
        patching.patched_answers(["<s>", "b"], *A([[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]]), "--m-transformer"),
        {
            "data.*.x": [[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]],
            "data.0.name": "changed text",
            "data.2.name": "first text",
            "layout.yaxis.ticktext": ["&lt;s&gt;", "b"],
        },
    ),
    "runs in comparison": (
        comparison_figure([line("1", (0.5, 0.7, 0.9)), line("2", (0.5, 0.7, 0.9))], "steps", (0.4, 1.0)),
        {
            "data.3.y,x,fillcolor": [[0.4, 0.6, 0.8], [0, 10, 20], "var(--m-rnn/0.16)"],
            "data.4.y,fill": [[0.6, 0.8, 1.0], "tonexty"],
            "data.5.y": [0.5, 0.7, 0.9],
            "data.5.line.dash,color": ["3px,3px", "var(--m-rnn)"],
            "data.*.name": [f"{i} RNN, {part}" for i in (1, 2) for part in ("lowest seed", "highest seed", "mean")],
            "layout.yaxis.range": [0.4, 1.0],
        },
    ),
    "zero on a logarithmic axis": (
        comparison_figure([line("1", (0.5, 0.1, 0.0))], "steps", (1e-3, 1.0), log_x=True, log_y=True),
        {"data.2.x": [5, 10, 20], "layout.xaxis.type": "log", "layout.yaxis.type,range": ["log", [-3, 0]]},
    ),
    "a diverged run": (
        comparison_figure([line("1", (NAN, 0.7, INF)), line("2", (0.5, 0.7, 0.9))], "steps", (0.4, 1.0)),
        {"data.2.y": [None, 0.7, None], "layout.annotations.*.y": [0.5, 0.5 / 0.6]},
    ),
    "a run without points": (
        comparison_figure([line("2", (), ()), line("1", (0.5, 0.7, 0.9))], "steps", (0.4, 1.0), log_x=True, log_y=True),
        {"data.*.type": ["scatter"] * 6, "layout.annotations.*.text": ["<b>1</b>"]},
    ),
    "no runs": (comparison_figure([], "steps", (0.4, 1.0)), {"data": []}),
    "dynamic evaluation": (
        adapting(LEARNED, STOOD),
        {
            "data.*.name": ["dynamic evaluation", "fixed weights"],
            "data.*.line.dash": [None, "5px,4px"],
            "data.*.line.color": ["var(--m-gru)"] * 2,
            f"data.{dynamic.ADAPTING}.x.0": 64,
            f"data.{dynamic.ADAPTING}.x.-1": READ[-1],
            f"data.{dynamic.ADAPTING}.y.-1": 2.25,
            f"data.{dynamic.STATIC}.y.-1": 2.31,
            "layout.xaxis.range": [0, READ[-1]],
            "layout.yaxis.range": [2.2, 2.4],
        },
    ),
    "dynamic evaluation beside an n-gram": (
        adapting(LEARNED, STOOD, ngram=(LONGER, LONGER)),
        {
            f"data.{dynamic.NGRAM}.name": "n-gram",
            f"data.{dynamic.CACHE}.name": "n-gram with a cache",
            f"data.{dynamic.NGRAM}.line.dash": "8px,3px,2px,3px",
            f"data.{dynamic.CACHE}.line.dash": None,
            f"data.{dynamic.CACHE}.line.color": "var(--m-ngram)",
            f"data.{dynamic.NGRAM}.x.-1": READ[-1],
            f"data.{dynamic.CACHE}.x.-1": READ[-1],
            "layout.annotations.*.text": ["dynamic", "fixed", "n-gram", "cache"],
        },
    ),
    "an interrupted evaluation": (
        adapting(dynamic.RunningMean(READ[:1], A([3.0])), STOOD, (2.2, 3.1)),
        {f"data.{dynamic.ADAPTING}.x": [64], "layout.xaxis.range": [0, READ[-1]]},
    ),
    "loss by context": (
        loss_by_context.loss_by_context([context_line("RNN", 3.0, 2.0, 1.5), context_line("LSTM", 3.0, 1.9, 1.2)], 64),
        {
            "data.0.y,fillcolor": [[2.9, 1.9, 1.4], "var(--m-rnn/0.18)"],
            "data.1.y,fill": [[3.1, 2.1, 1.6], "tonexty"],
            "data.2.y,x": [[3.0, 2.0, 1.5], [1, 4, 64]],
            "data.2.line.dash,color": ["3px,3px", "var(--m-rnn)"],
            "data.*.name": ["RNN, low", "RNN, high", "RNN", "LSTM, low", "LSTM, high", "LSTM"],
            "layout.xaxis.type,tickvals": ["log", [1, 2, 4, 8, 16, 32, 64]],
            "layout.yaxis.type,range": [None, [0.98, 3.22]],
            "layout.annotations.1.y": (1.2 - 0.98) / (3.22 - 0.98),
        },
    ),
    "cost by length": (
        loss_by_context.cost_by_length(
            [context_line("RNN", 0.02, 0.1, 2.0, band=False), context_line("explicit", 0.5, 5.0, 50.0, hollow=True)],
            "s",
            1_024,
        ),
        {
            "layout.xaxis.type": "log",
            "layout.yaxis.type,range": ["log", [math.log10(0.02 / 1.5), math.log10(75)]],
            "layout.yaxis.ticktext": ["0.1", "1", "10"],
            "layout.xaxis.ticktext.-1": "1,024",
            "layout.annotations.0.y": math.log10(2 / 0.02 * 1.5) / math.log10(75 / 0.02 * 1.5),
            "data.2.marker.color": "var(--m-rnn)",
            "data.5.marker.color": "var(--page)",
            "data.5.marker.line.color": "var(--m-rnn)",
            "data.0.y": [None] * 3,
            "data.1.y": [None] * 3,
        },
    ),
    "a short logarithmic axis": (
        loss_by_context.cost_by_length([context_line("RNN", 0.03, 0.1, 0.4, band=False)], "s", 64),
        {"layout.yaxis.ticktext": ["0.02", "0.05", "0.1", "0.2", "0.5"]},
    ),
    "accuracy by distance": (
        loss_by_context.accuracy_by_distance([context_line("RNN", 1.0, 0.9, 0.4)], 0.27, "always )", 32, 60),
        {
            "layout.shapes.0.y0,y1": [0.27, 0.27],
            "layout.shapes.1.x0,x1": [32, 32],
            "layout.annotations.*.text": ["always ) 0.27", "read", "RNN"],
            "layout.annotations.0.y": 0.27,
            "layout.annotations.1.x": math.log10(32),
            "layout.yaxis.range": [0, 1.04],
        },
    ),
    "accuracy by distance, without an end of the context": (
        loss_by_context.accuracy_by_distance([context_line("RNN", 1.0, 0.9, 0.4)], 0.27, "always )", 64, 60),
        {"layout.shapes.*.y0": [0.27]},
    ),
    "loss by window": (
        loss_by_context.loss_by_window(
            [
                loss_by_context.Line(
                    "blocks", "--m-rnn", "solid", A([16, 32]), A([1.5, 1.4]), A([1.3] * 2), A([1.6] * 2)
                )
            ],
            32,
        ),
        {"layout.shapes.*.x0": [32], "layout.xaxis.ticktext": ["16", "32"]},
    ),
    "bars with the lowest marked": (
        perplexity.bars(["A", "<B>"], [2.5, 1.25], 2, "--m-ngram", True),
        {
            "data.0.x": [2.5, 1.25],
            "layout.yaxis.ticktext": ["A", "&lt;B&gt;"],
            "layout.annotations.*.text": ["2.50", "<b>1.25</b>"],
        },
    ),
    "bars that cannot be compared": (
        perplexity.bars(["A", "<B>"], [2.5, 1.25], 2, "--m-ngram", False),
        {"layout.annotations.*.text": ["2.50", "1.25"]},
    ),
    "measure by temperature": (
        temperature.measure_by_temperature([MEASURE, MEASURE], A([0.0, 1.0, 2.0]), 0.7, [], (0.0, 1.0)),
        {
            "data.*.y": [[0.1, 0.5, 0.8], [0.3, 0.5, 1.0], [0.2, 0.5, 0.9]] * 2,
            "data.1.fill": "tonexty",
            "data.2.line.color,dash": ["var(--m-rnn)", "3px,3px"],
            "layout.shapes.*.x0": [0.7],
        },
    ),
    "human text beside generated text": (
        temperature.measure_by_temperature(
            [MEASURE], A([0.0, 1.0, 2.0]), 0.7, [("--m-ngram", 0.5), ("--m-rnn", 0.51), ("--m-gru", 0.52)], (0.0, 1.0)
        ),
        {
            "layout.annotations.*.x,xanchor": [[2.0, "right"], [0.0, "left"], [0.0, "left"]],
            "layout.annotations.*.yanchor": ["bottom", "bottom", "top"],
            "layout.annotations.*.font.color": ["var(--m-ngram)", "var(--m-rnn)", "var(--m-gru)"],
            "layout.annotations.0.text": "people 0.50",
            "layout.shapes.1.y0": 0.5,
            "layout.shapes.1.line.color": "var(--m-ngram)",
        },
    ),
    "human text near the top": (
        temperature.measure_by_temperature([MEASURE], A([0.0, 1.0, 2.0]), 0.7, ratios(0.95), (0.0, 1.0)),
        {"layout.annotations.*.text,yanchor": [["people 0.95", "top"]]},
    ),
    "human text with a negative measure": (
        temperature.measure_by_temperature([MEASURE], A([0.0, 1.0, 2.0]), 0.7, ratios(-1.25), (-3.0, 0.0)),
        {"layout.annotations.*.text": ["people −1.25"]},
    ),
    "training and held-out loss": (
        losses(10.0),
        {
            "data.*.x": [[0.0, 10.0, 20.0]] * 2,
            "data.*.y": [[3.0, 1.5, 1.6], [3.0, 1.4, None]],
            "layout.xaxis.range": [0, 40],
            "layout.shapes.*.x0,x1": [[10.0, 10.0]],
        },
    ),
    "losses without a best step": (losses(None), {"layout.shapes": []}),
    "gradient norms": (
        text.gradient_norms(
            {
                "GRU": ("--m-gru", "solid", (A([5.0, 15.0]), A([0.5, INF]))),
                "RNN": ("--m-rnn", "3px,3px", (A([5.0, 15.0]), A([2.0, 1.0]))),
            },
            20,
        ),
        {"data.*.name": ["GRU", "RNN"], "data.0.y": [0.5, None], "layout.yaxis.type": "log"},
    ),
    "measure by vocabulary": (
        tokens.measure_by_vocabulary([BPE, CHARACTERS], 500, "characters per token"),
        {
            "data.0.x.0": 65,
            "data.0.x.-1": 2000,
            "data.*.mode": ["lines", "markers"],
            "data.1.x,y": [[65], [1.0]],
            "layout.shapes.*.x0,x1": [[500, 500]],
        },
    ),
    "shares by vocabulary": (
        tokens.measure_by_vocabulary(
            [tokens.TokenizerLine("Words", "solid", A([2, 3]), A([0.5, 0.25]))], 2, "unknown", percent=True
        ),
        {"data.0.y": [50, 25], "layout.yaxis.ticksuffix": " %"},
    ),
    "origins of rows": (
        tokens.row_origins(A([[100, 900], [110, 200], [120, 500]]), 1_000),
        {
            "data.0.x,y,customdata": [[100, 110, 120, 900, 200, 500], [0, 0, 0, 1, 1, 1], [1, 2, 3, 1, 2, 3]],
            "data.1.x,text": [[100, 200, 500, 900], ["1 2 3", "2", "3", "1"]],
            "layout.xaxis.range": [0, 1_000],
            "layout.yaxis.ticktext": ["row 1", "row 2"],
        },
    ),
    "honest and leaky scores": (
        tokens.split_scores_figure(
            [tokens.SplitScores("blocks", 2.19, 0.82), tokens.SplitScores("lines", 2.0, 2.001)], "--m-ngram"
        ),
        {
            "data.1.x": [2.19, 2.0],
            "data.2.x": [0.82, 2.001],
            "data.1.marker.color": "var(--m-ngram)",
            "data.2.marker.color": "var(--page)",
            "layout.annotations.*.text": ["honest 2.19", "leaky 0.82", "honest 2.00", "leaky 2.00"],
            "layout.annotations.*.yanchor": ["bottom", "top"] * 2,
        },
    ),
    "a score near zero": (
        tokens.split_scores_figure([tokens.SplitScores("blocks", 1.0, 0.01)], "--m-ngram"),
        {"layout.annotations.*.text,xanchor": [["honest 1.00", "center"], ["leaky 0.01", "left"]]},
    ),
    "loss on a string": (
        memory_string.string_loss_figure(
            [
                line("kept", (1.0, 0.6, 0.01), (2, 10, 200), "solid"),
                line("cut", (1.0, 0.6, 0.3), (2, 10, 200), "2px,4px"),
            ],
            200,
            (0.297, "floor 0.297"),
        ),
        {
            "data.2.line.dash": "solid",
            "data.5.line.dash,color": ["2px,4px", "var(--m-rnn)"],
            "data.2.y": [1.0, 0.6, 0.01],
            "data.5.y": [1.0, 0.6, 0.3],
            "layout.shapes.*.y0,y1": [[0.297, 0.297]],
            "layout.shapes.*.line.dash,color": [["5px,4px", "var(--ink)"]],
            "layout.annotations.*.text": ["<b>kept</b>", "<b>cut</b>", "floor 0.297"],
            "layout.xaxis.type,tickvals": ["log", [2, 10, 50, 200]],
        },
    ),
    "recall by length": (
        recall.accuracy_by_length(RECALL, 50, 1_000, 0.25),
        {
            "data.2.line.dash": "solid",
            "data.5.line.dash": "6px,4px",
            "layout.shapes.*.x0,y0": [[50, 0], [0, 0.25]],
            "layout.xaxis.type": "log",
            "layout.yaxis.tickvals": [0, 0.25, 1],
        },
    ),
    "recall by step": (recall.accuracy_by_step(RECALL, 400, 0.5), {"layout.xaxis.range": [0, 400]}),
    "recall by step, without runs": (recall.accuracy_by_step([], 400, 0.5), {"layout.xaxis.range": [0, 400]}),
    "the end of early stopping": (
        recall.train_and_test_accuracy(RECALL, 300, 30),
        {"layout.shapes.*.x0": [30, 0], "layout.xaxis.range": [0, 300]},
    ),
    "shares of solved seeds": (
        recall.solved_shares(
            A([[1.0, NAN], [0.0, 0.5]]),
            [["8 of 8", ""], ["0 of 8", "4 of 8"]],
            ["GRU", "RNN"],
            ["10", "50"],
            "symbols",
        ),
        {
            "data.0.z,text": [[[1.0, None], [0.0, 0.5]], [["8 of 8", ""], ["0 of 8", "4 of 8"]]],
            "layout.yaxis.ticktext": ["GRU", "RNN"],
        },
    ),
    "final values": (
        final_figure(
            final_values("none", "6px,4px", [3.0, 3.2], [9.0, 90.0], [4.0, 4.2]),
            final_values("clip", "solid", [3.0, 3.1], [NAN, NAN], [3.2, INF]),
        ),
        {
            "data.*.y": [[3.1, None, 4.1], [3.0, 3.2, 4.0, 4.2], [3.05, None, None], [3.0, 3.1, 3.2]],
            "data.0.line.dash": "6px,4px",
            "data.2.line.dash": "solid",
            "layout.xaxis.ticktext": ["0.1", "0.3", "1"],
            "layout.annotations.*.text": ["↑ 90", "no numbers", "<b>none</b>", "<b>clip</b>"],
        },
    ),
    "a reference inside the frame": (
        final_figure(final_values("", "solid", [3.0]), top=7.0, reference=(6.02, "blind guessing")),
        {"layout.shapes.*.y0": [6.02], "layout.annotations.*.text": ["blind guessing"]},
    ),
    "a reference outside the frame": (
        final_figure(final_values("", "solid", [3.0]), reference=(6.02, "blind guessing")),
        {"layout.shapes,annotations": [[], []]},
    ),
    "low curves": (
        experiments.low_comparison_figure(
            [line("a", (6.0, 3.0), (0, 9)), line("b", (6.0, 3.01), (0, 9))], "step", (2.9, 6.0), 9.0
        ),
        {"layout.xaxis.range": [0, 9]},
    ),
    "plain numbers on a logarithmic axis": (
        experiments.low_comparison_figure([line("a", (6.0, 200.0), (0, 9))], "step", (2.8, 260.0), 9.0, log_y=True),
        {"layout.yaxis.ticktext": ["3", "10", "30", "100"]},
    ),
    "growth": (
        growth.growth_figure(
            [growth_line("GRU", 2.5, 2.0), growth_line("RNN", 2.5)],
            "parameters",
            (900.0, 2e6),
            [1e3, 15.7e3, 1e6],
            (1.4, 3.5),
        ),
        {
            "data.*.y": [[2.4, 1.9], [2.6, 2.1], [2.5, 2.0], [2.4], [2.6], [2.5]],
            "data.1.fill": "tonexty",
            "data.2.x": [1e3, 1e4],
            "layout.annotations.*.text": ["GRU", "RNN"],
            "layout.xaxis.type,ticktext,range": ["log", ["1k", "15.7k", "1M"], [np.log10(900), np.log10(2e6)]],
            "layout.yaxis.type,ticktext": ["log", ["1.5", "2", "2.5", "3", "3.5"]],
        },
    ),
    "learning curve": (
        curve(SEEDS, (0.8833, "ceiling of counting")),
        {
            "data.*.y": [[0.4, 0.5, 0.8, 0.7], [0.6, 0.9, 0.8, 1.0], [0.5, 0.7, 0.8, 1.0]],
            "data.*.x": [[0, 0.25, 1, 3.5]] * 3,
            "data.*.name": ["RNN, lowest seed", "RNN, highest seed", "RNN, median"],
            "data.1.fill": "tonexty",
            "data.2.line.color,dash": ["var(--m-rnn)", "3px,3px"],
            "layout.shapes.*.y0,y1": [[0.8833, 0.8833]],
            "layout.annotations.*.y,text": [[0.8833, "ceiling of counting"]],
        },
    ),
    "learning curve at its beginning": (
        curve(SEEDS[:0], (0.8833, "")),
        {
            "layout.xaxis.range": [0, 25],
            "layout.yaxis.range": [0.42, 1.03],
            "layout.shapes.*.y0": [0.8833],
            "layout.annotations": [],
        },
    ),
    "learning curve without a ceiling": (curve(SEEDS[:1]), {"layout.shapes": [], "layout.xaxis.range": [0, 25]}),
    "exact match by length": (
        translation.exact_match_by_length([falling("one", 3), falling("attention", 99)], 8, 10),
        {
            "data.*.type": ["scatter"] * 6,
            "layout.shapes.*.x0": [8.5],
            "layout.xaxis.range": [0, 10],
            "layout.annotations.*.text": ["<b>one</b>", "<b>attention</b>", "trained", "beyond"],
            "layout.annotations.1.x": 10,
        },
    ),
    "exact match by step": (translation.exact_match_by_step([], 800), {"layout.xaxis.range": [0, 800]}),
    "exact match by ablation": (
        translation.exact_match_by_ablation(
            A([[[1.0, 0.5], [0.5, 0.5]], [[NAN, NAN], [0.1, 0.3]]]), ["as it is", "looks evenly"], ["one", "attention"]
        ),
        {"data.0.z": [[0.75, 0.5], [None, 0.2]], "data.0.text.1": ["", "0.20  (0.10–0.30)"]},
    ),
    "exact match by format": (
        translation.exact_match_by_format(A([[0.5, NAN]]), ["3 march 1997"], ["one vector", "attention"]),
        {"layout.yaxis.ticktext": ["3 march 1997"], "data.0.z,text": [[[0.5, None]], [["0.50", ""]]]},
    ),
    "accuracy of the copy task": (
        translation.copy_accuracy_by_step([falling("attention", 3)], 10, 0.05),
        {"layout.shapes.*.y0": [0.05]},
    ),
    "accuracy by position": (
        curves_by_position(teacher_forcing_lines(GIVEN, OWN, "the <model>", "--m-gru"), loss=False),
        {
            "data.3.y": [0.8, 0.2, 0.0],
            "data.4.y": [1.0, 0.4, 0.2],
            "data.5.y,x": [[0.9, 0.3, 0.1], [1, 2, 3]],
            "data.2.line.color": "var(--m-gru)",
            "data.5.line.color": "var(--m-gru)",
            "layout.yaxis.range,tickvals": [[0.0, 1.04], [0, 0.5, 1]],
            "layout.xaxis.range": [0.5, 3.5],
            "layout.xaxis.title.text": "position in the target",
            "layout.annotations.*.text": ["<b>correct</b>", "<b>own</b>"],
        },
    ),
    "measured and predicted cost": (
        cost.cost_figure([cost_line("GRU", 1.0, 2.0, NAN)], "length", "seconds", (32, 64, 128)),
        {
            "data.*.y": [[64.0, 128.0, 256.0], [1.0, 2.0, None]],
            "data.0.mode": "lines",
            "data.*.line.dash": ["1px,4px", "solid"],
        },
    ),
    "no measured cost": (
        cost.cost_figure([cost_line("a", NAN, NAN, NAN)], "x", "y", (32, 64, 128)),
        {"layout.annotations": []},
    ),
    "cost at many sizes": (
        cost.cost_figure([cost_line("a", 1, 2, 3)], "x", "y", tuple(2**i for i in range(5, 12))),
        {"layout.xaxis.ticktext": ["32", "128", "512", "2,048"]},
    ),
    "parameters": (
        cost.parameter_bars([("expand", 4096, "= d m"), ("<b>", 12, "= d")], "--m-transformer"),
        {"data.0.x": [4096, 12], "layout.xaxis.range.1": 4096},
    ),
    "measure by heads": (
        depth.measure_by_heads(HEADS, (1, 2, 4), "bits", (0.0, 1.0)),
        {
            "data.0.y": [None, 0.2, 0.5],
            "data.1.y": [None, 0.45, 0.9],
            "data.2.y": [None, 0.25, 0.6],
            "data.5.line.dash": "6px,4px",
            "layout.xaxis.ticktext": ["1", "2", "4"],
        },
    ),
    "next symbols": (
        induction.next_symbol_map("bab", 2, ["two", "one"], A([[0.1, 0.2, 0.9], [0.1, 0.1, 0.1]]), ["xyb", "xyz"]),
        {
            "data.0.z,text": [[[0.1, 0.2, 0.9], [0.1, 0.1, 0.1]], [["x", "y", "b"], ["x", "y", "z"]]],
            "layout.xaxis.ticktext": ["b", "a", "b"],
            "layout.yaxis.ticktext": ["two", "one"],
            "layout.shapes.*.x0": [1.5],
        },
    ),
    "next symbols of a row without a repetition": (
        induction.next_symbol_map("b", None, ["two"], A([[0.1]]), ["x"]),
        {"layout.shapes": []},
    ),
    "loss with a floor": (
        mask_losses(False, 200.0, (2.94, "ln 19 = 2.94")),
        {
            "data.2.y": [0.1, 0.2, 3.0],
            "layout.yaxis.type,range,ticktext": ["log", [-2, math.log10(8)], ["0.01", "0.1", "1"]],
            "layout.xaxis.range": [0, 200.0],
            "layout.xaxis.title.text": "step",
            "layout.shapes.*.y0,y1": [[2.94, 2.94]],
            "layout.annotations.-1.text,yanchor": ["ln 19 = 2.94", "bottom"],
        },
    ),
    "loss with a low floor": (mask_losses(False, 9.0, (0.03, "least")), {"layout.annotations.-1.yanchor": "top"}),
    "loss by position": (
        mask_losses(True, 12.0, None),
        {
            "layout.xaxis.tickvals": [1, 3, 6, 9, 12],
            "layout.xaxis.title.text": "place",
            "layout.xaxis.range.1": 12.0,
            "layout.shapes": [],
        },
    ),
    "loss by many positions": (mask_losses(True, 40.0, None), {"layout.xaxis.tickvals": [1, 10, 20, 30, 40]}),
    "order sensitivity": (
        positions.order_sensitivity(
            ["none", "sines, causal"], [False, True], A([[0.0, 2e-7, 1e-7], [0.1, 0.2, 0.3]]), "--m-transformer"
        ),
        {
            "data.0.x": [positions.LOWEST, 2e-7, 1e-7],
            "data.1.y": [1, 1, 1],
            "data.*.marker.symbol": ["circle", "diamond"],
            "layout.yaxis.ticktext": ["none", "sines, causal"],
            "layout.shapes.0.x0": positions.ROUNDING,
            "layout.xaxis.tickvals": [positions.LOWEST, 1e-7, 1e-5, 1e-3, 0.1],
            "layout.xaxis.ticktext": ["0", "10⁻⁷", "10⁻⁵", "10⁻³", "0.1"],
        },
    ),
    "exact match beyond the trained lengths": (
        positions.exact_match_by_length(falling("sines", 4), 4, 6),
        {
            "layout.shapes.0.x0": 4.5,
            "layout.xaxis.range": [0, 6.0],
            "layout.annotations.*.text": ["not trained"],
            "data.2.y": [1.0] * 4 + [0.0] * 6,
        },
    ),
    "quantity by width": (
        BY_WIDTH,
        {
            "data.2.y": [0.05, 0.2, 0.35],
            "data.0.y": [0.1, 0.25, 0.4],
            "layout.annotations.*.text": ["not divided", "divided"],
            "layout.yaxis.ticktext.-1": "even",
        },
    ),
    "final accuracy": (
        ceilings.final_accuracy_figure(accuracies([0.8833] * 3, [1.0, 0.75, 1.0]), 0.8833, 0.8833),
        {
            "layout.yaxis.ticktext": ["model 0", "model 1"],
            "data.*.x": [[0.8833] * 3, [1.0, 0.75, 1.0]],
            "layout.shapes.*.x0,x1": [[0.8833, 0.8833]],
            "layout.annotations.*.x,text": [[0.8833, "ceiling 0.8833"]],
        },
    ),
    "a lower minimum of the cross-entropy": (
        ceilings.final_accuracy_figure(accuracies([0.8]), 0.8333, 0.6667),
        {
            "layout.shapes.*.x0": [0.8333, 0.6667],
            "layout.annotations.*.text": ["ceiling 0.8333", "training leads to 0.6667"],
        },
    ),
    "ceiling by probability": (
        ceilings.ceiling_by_probability(CHANCES, CEILINGS, LEADS, 0.5, [0.66, 0.68]),
        {
            "data.0.x": CHANCES,
            "data.1.x": CHANCES,
            "data.2.x,y": [[0.5, 0.5], [0.66, 0.68]],
            "layout.xaxis.range": [0, 1],
        },
    ),
    "attention map": (
        internals.attention_map(A([[0.9, 0.1, NAN, 0]] * 3 + [[NAN] * 4]), WORDS),
        {
            "data.0.z,text": [[[0.9, 0.1, None, 0]] * 3 + [[None] * 4], [[".90", ".10", "", ""]] * 3 + [[""] * 4]],
            "data.0.zmin,zmax": [0, 1],
            "layout.xaxis.tickvals,ticktext,range": [[0, 1, 2, 3], ESCAPED, [-0.5, 3.5]],
            "layout.yaxis.ticktext,range": [ESCAPED, [3.5, -0.5]],
        },
    ),
    "a large attention map has no numbers": (
        internals.attention_map(np.eye(13), [str(i) for i in range(13)]),
        {"data.0.text": [[""] * 13] * 13},
    ),
    "contributions": (
        internals.contributions(WORDS, A([0.5, -1.25, 2.0, -3.0]), 0.125),
        {
            "data.0.base,x": [[0, 0.125, 0.625, -0.625, 1.375, 0], [0.125, 0.5, -1.25, 2.0, -3.0, -1.625]],
            "data.0.y": [0, 1, 2, 3, 4, 5],
            "data.2.y": [0, 1, 2, 3, 4, 5],
            "layout.yaxis.ticktext": ["bias", *ESCAPED, "together"],
        },
    ),
    "answer after each token": (
        internals.answer_after_each_token(WORDS, A([0.5, 0.4, 0.7, 1.0]), "--m-rnn", ("collapse", "sustain")),
        {
            "data.0.y,text": [[0.5, 0.4, 0.7, 1.0], ["0.50", "0.40", "0.70", "1.00"]],
            "layout.yaxis.tickvals,ticktext": [[0, 0.5, 1], ["collapse", "undecided", "sustain"]],
            "layout.xaxis.ticktext": ESCAPED,
            "layout.shapes.0.y0,y1": [0.5, 0.5],
        },
    ),
    "word weights": (
        internals.word_weights(("a", "<EOS>"), A([[0.5, -2.0], [-0.5, 2.0]]), ("collapse", "sustain")),
        {
            "data.*.name,x": [["collapse", [0.5, -2.0]], ["sustain", [-0.5, 2.0]]],
            "layout.yaxis.ticktext": ["a", "&lt;EOS&gt;"],
        },
    ),
    "embedding map": (
        internals.embedding_map(("not", "<EOS>", "human"), A([[1.0, -0.5], [-2.0, 0.25], [0.0, 0.0]]), "--m-rnn"),
        {
            "data.0.x,y,text": [[1.0, -2.0, 0.0], [-0.5, 0.25, 0.0], ["not", "&lt;EOS&gt;", "human"]],
            "layout.yaxis.scaleanchor": "x",
        },
    ),
    "similarity by layer": (
        senses.similarity_by_layer(SAME, OTHER, -0.1),
        {
            "data.0.y": [0.9, 0.8, 0.85],
            "data.1.y": [0.9, 0.9, 0.95],
            "data.2.y": [0.9, 0.85, 0.9],
            "data.5.y": [0.9, 0.6, 0.3],
            "layout.xaxis.ticktext": ["0", "1", "2"],
            "layout.yaxis.range.0": -0.1,
            "layout.annotations.*.text,y": [[f"<b>{senses.SAME}</b>", 0.9], [f"<b>{senses.OTHER}</b>", 0.3]],
        },
    ),
    "equal similarities": (
        senses.similarity_by_layer(SAME, SAME, 0.0),
        {"layout.annotations.*.text,y": [["<b>both</b>", 0.9]]},
    ),
    "word map": (
        vectors.word_map(A([[0.0, 0.0], [1.0, 0.5], [0.2, -0.3]]), ["<a>", "b", "c"], "--m-cbow", ["b"]),
        {
            "data.0.text,x": [["&lt;a&gt;", "b", "c"], [0.0, 1.0, 0.2]],
            "data.0.marker.size,color": [[8, 13, 8], "var(--m-cbow)"],
        },
    ),
    "agreement by count": (
        vectors.agreement_by_count(["1–9", "≥10"], A([[0.1, 0.5], [0.3, 0.7]]), "--m-cbow"),
        {"data.0.y": [0.2, 0.6], "data.0.error_y.array,arrayminus": [[0.1, 0.1], [0.1, 0.1]]},
    ),
    "length by count": (
        vectors.length_by_count(A([1, 100]), A([1.0, 2.0]), "--m-cbow"),
        {"layout.xaxis.type": "log", "data.0.y": [1.0, 2.0]},
    ),
}


def get(node: Any, path: list[str]) -> Any:
    """Return what stands at a path; `*` stands for every element, and `a,b` for two attributes."""
    for i, part in enumerate(path):
        if "," in part:
            return [get(node, [each]) for each in part.split(",")]
        if part == "*":
            return [get(each, path[i + 1 :]) for each in node]
        node = node[int(part)] if part.lstrip("-").isdigit() else getattr(node, part)
    return [get(each, []) for each in node] if isinstance(node, (list, tuple, ndarray)) else node


def matches(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(matches, found, expected))
    if isinstance(expected, float) and found is not None:
        return math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-12)
    return bool((found.split("</span> ")[-1] if isinstance(found, str) else found) == expected)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_these_parts(name: str) -> None:
    figure, parts = FIGURES[name]
    found = {path: get(figure, path.split(".")) for path in parts}
    assert {path: found[path] for path in parts if not matches(found[path], parts[path])} == {}, "expected: " + str(
        parts
    )


def heights(figure: go.Figure) -> dict[str, float]:
    """Return the heights of the labels at the ends of the lines, as shares of the figure."""
    labels = [note for note in figure.layout.annotations if note.yref == "paper"]
    return {note.text.split("</span> ")[-1].replace("<b>", "").replace("</b>", ""): note.y for note in labels}


def by_width(end: float, log: bool) -> go.Figure:
    axis = scaled_attention.Axis((0.001, 1.0), (0.001, 1.0), log=log)
    return scaled_attention.quantity_by_width(WIDTHS, np.full((2, 3, 3), end), axis, 0)[0]


@pytest.mark.parametrize(
    ("figure", "gap", "order"),
    [
        (
            loss_by_context.loss_by_context([context_line(c, 3.0, 2.0, y) for c, y in (("a", 1.5), ("b", 1.501))], 64),
            0.07,
            "ba",
        ),
        (adapting(*mean_until_end(2.398, 2.399), ngram=mean_until_end(2.397, 2.3975)), 0.08, ""),
        *(
            (final_figure(final_values("a", "solid", [one]), final_values("b", "solid", [other])), 0.08, "")
            for one, other in [(3.0, 3.0), (3.0, 3.001), (5.9, 5.9), (2.5, 2.5), (3.0, INF), (NAN, 3.0)]
        ),
        (
            experiments.low_comparison_figure(
                [line("a", (6.0, 3.0), (0, 9)), line("b", (6.0, 3.01), (0, 9))], "step", (2.9, 6.0), 9.0
            ),
            0.149,
            "ba",
        ),
        (recall.accuracy_by_length(RECALL, 50, 1_000, 0.5), 0.12, ""),
        *(
            (
                memory_string.string_loss_figure(
                    [line("a", (1.0, one), (2, 9)), line("b", (1.0, other), (2, 9))], 9, (0.2, "")
                ),
                0.09,
                order,
            )
            for one, other, order in [(0.0, 0.0, ""), (0.3, 0.28, "ab"), (0.1, 0.9, "ba")]
        ),
        (
            cost.cost_figure([cost_line("a", 1, 2, 300.0), cost_line("b", 1, 2, 301.0)], "x", "y", (32, 64, 128)),
            0.0699,
            "ba",
        ),
        (by_width(0.999, False), 0.119, ""),
        (by_width(1.0, True), 0.119, ""),
    ],
)
def test_labels_are_apart_inside_the_figure_and_in_the_order_of_the_lines(
    figure: go.Figure, gap: float, order: str
) -> None:
    found = heights(figure)
    placed = sorted(found.values())
    assert all(above - below >= gap - 1e-9 for below, above in pairwise(placed)) and placed[0] >= 0 and placed[-1] <= 1
    assert [name for name in sorted(found, key=lambda name: -found[name]) if name in order] == list(order)


def test_many_labels_stay_inside_the_figure_and_a_line_without_numbers_has_none() -> None:
    crowded = loss_by_context.loss_by_context([context_line(str(i), 1.0, 1.0, 1.0) for i in range(12)], 64)
    assert all(0 <= height <= 1 for height in heights(crowded).values())
    some, none = context_line("RNN", 0.1, 0.3, NAN, band=False), context_line("GRU", NAN, NAN, NAN, band=False)
    for figure in (
        loss_by_context.cost_by_length([some, none], "s", 64),
        loss_by_context.loss_by_context([some, none], 64),
    ):
        assert figure.data[2].y == (0.1, 0.3, None) and list(heights(figure)) == ["RNN"]


@pytest.mark.parametrize(("context", "ticks"), [(50, (1, 2, 4, 8, 16, 32, 50)), (40, (1, 2, 4, 8, 16, 32)), (1, (1,))])
def test_length_ticks_double_and_include_the_end_if_there_is_room(context: int, ticks: tuple[int, ...]) -> None:
    figure = loss_by_context.loss_by_context([context_line("RNN", 3.0, 2.0, 1.5)], context)
    assert figure.layout.xaxis.tickvals == ticks


def test_axes_contain_their_values_with_a_margin() -> None:
    importance = FIGURES["head importance, with two standard errors"][0].layout
    assert importance.xaxis.range[0] < -0.26 and importance.xaxis.range[1] > 0.54 and importance.yaxis.range[0] > 2
    assert 10 ** FIGURES["measured and predicted cost"][0].layout.yaxis.range[0] < 1.0
    assert 10 ** FIGURES["measured and predicted cost"][0].layout.yaxis.range[1] > 256
    low, high = FIGURES["contributions"][0].layout.xaxis.range
    assert low < -1.625 and high > 1.375
    low, high = FIGURES["word weights"][0].layout.xaxis.range
    assert -low == high > 2
    layout = FIGURES["embedding map"][0].layout
    assert layout.xaxis.range == layout.yaxis.range and layout.xaxis.range[1] > 2
    low, high = FIGURES["ceiling by probability"][0].layout.yaxis.range
    assert low < 0.66 and high > 1
    assert FIGURES["recall by length"][0].layout.xaxis.range[1] == pytest.approx(3, abs=0.05)
    assert FIGURES["loss by position"][0].layout.xaxis.range[0] > 0
    low, high = FIGURES["loss on a string"][0].layout.yaxis.range
    assert low <= 0 < 1.1 <= high
    for scale, bounds in ((3, (3.0, 4.0)), (0, (0.0, 1.0))):
        low, high = curves_by_position(
            teacher_forcing_lines(scale * GIVEN, scale * OWN, "it", "--m-gru"), loss=True
        ).layout.yaxis.range
        assert low == 0.0 and bounds[0] < high < bounds[1]
    for worst, mark in ((0.9, 0.9), (0.2, 0.9), (0.0, 0.9), (0.9, 0.3)):
        low, high = ceilings.final_accuracy_figure(accuracies([worst, 1.0]), 0.95, mark).layout.xaxis.range
        assert low <= min(worst, mark) and high > 1


def test_signs_other_than_colour_tell_marks_apart() -> None:
    bars = FIGURES["bars with the lowest marked"][0].data[0].marker.color
    assert bars[0] != bars[1] and len(set(FIGURES["bars that cannot be compared"][0].data[0].marker.color)) == 1
    loss = FIGURES["training and held-out loss"][0].data
    assert loss[0].line.width > loss[1].line.width
    dots = FIGURES["final values"][0].data
    assert dots[1].x[0] < 0 < dots[3].x[0], "side by side, not one over the other"
    colours = FIGURES["contributions"][0].data[0].marker.color
    assert colours[0] == colours[1] != colours[2]
    similarity = FIGURES["similarity by layer"][0].data
    assert similarity[2].line.dash != similarity[5].line.dash
    position = FIGURES["accuracy by position"][0].data
    assert position[2].line.dash != position[5].line.dash
    hollow = cost.cost_figure([cost_line("b", 1, 2, 3, hollow=True)], "x", "y", (32, 64, 128))
    assert hollow.data[1].marker.line.width == 2 and "○" in hollow.layout.annotations[0].text
    parameters = FIGURES["parameters"][0].layout
    assert parameters.yaxis.range[0] > parameters.yaxis.range[1], "the first part stands on top"
    assert "4,096" in parameters.annotations[0].text and "<b>&lt;b&gt;</b>" in parameters.annotations[1].text
    lines = [senses.SimilarityLine(f"sentence {i}", np.zeros(3)) for i in range(1, MAX_REAL_SENTENCES)]
    assert len({trace.line.dash for trace in senses.similarity_to_one(lines, "--soft").data}) == len(lines)
    assert MAX_REAL_SENTENCES == MOST_SENTENCES, "a lesson measures as many sentences as the page reads"


def test_a_large_map_of_shares_has_few_labels_and_no_numbers() -> None:
    figure = patching.share_map([f"layer {i + 1}" for i in range(30)], ["a"] * 9, np.ones((30, 9)))
    [cells] = figure.data
    assert cells.texttemplate is None and not figure.layout.shapes and not cells.showscale
    assert 5 < len([name for name in figure.layout.yaxis.ticktext if name]) <= 12


def test_long_lines_are_thinned_and_keep_their_ends_and_labels() -> None:
    assert len(FIGURES["dynamic evaluation"][0].data[0].x) <= 200
    vocabulary = FIGURES["measure by vocabulary"][0].data[0]
    assert len(vocabulary.x) < 200 and vocabulary.y == pytest.approx(np.log(vocabulary.x), abs=1e-4)
    assert vocabulary.x[1] - vocabulary.x[0] == 1 and vocabulary.x[-1] - vocabulary.x[-2] > 10, "closer where it bends"
    near = replace(BPE, name="Words", values=BPE.values + 0.01)
    labels = tokens.measure_by_vocabulary([BPE, near, CHARACTERS], 500, "x").layout.annotations
    placed = {note.text: note.y for note in labels}
    assert len(placed) == 3 and placed["Words"] - placed["BPE"] > 0.5
    norms = np.full((1, 2, 400), 1e-3)
    norms[:, :, 0] = 0.0
    figure, frames = memory_gradients.gradient_figure(
        [memory_gradients.GradientLine("a", "a", "--m-gru", "solid", norms)]
    )
    x = figure.data[2].x
    assert (len(x), x[0], x[-1], frames[0][2][0]) == (memory_gradients.MAX_POSITIONS, 1, 400, None)


def test_the_axis_of_dynamic_evaluation_contains_settled_values_and_no_distant_ngram() -> None:
    leaping = dynamic.RunningMean(READ, np.where(READ < 1_000, 9.0, 2.5))
    low, high = dynamic.shared_y_range([leaping, STOOD])
    assert low < 2.31 and 2.5 < high < 3
    low, high = dynamic.shared_y_range([STOOD])
    assert low < 2.31 < high < dynamic.shared_y_range([dynamic.RunningMean(READ[:1], A([3.0])), STOOD])[1]
    near, far = mean_until_end(2.28, 1.2)
    assert dynamic.shared_y_range([LEARNED, STOOD], [near])[0] < 2.28
    alone = dynamic.shared_y_range([LEARNED, STOOD])
    assert dynamic.shared_y_range([LEARNED, STOOD], [far]) == alone
    label = adapting(LEARNED, STOOD, alone, (near, far)).layout.annotations[-1]
    assert (label.text, label.y) == ("↓ cache", 0)


def test_gradient_lines_are_medians_between_the_extreme_seeds_in_every_frame() -> None:
    decay = np.stack([10.0 ** np.linspace(-power, -1, 5) for power in (16, 17, 18)])  # three seeds, five symbols
    flat = np.full((3, 5), 0.1)
    figure, frames = memory_gradients.gradient_figure(
        [
            memory_gradients.GradientLine("RNN usual", "RNN", "--m-rnn", "6px,4px", np.stack([decay, flat])),
            memory_gradients.GradientLine("Transformer none", "T", "--m-transformer", "solid", np.stack([flat] * 2)),
        ]
    )
    low, high, median, _, *_, other = figure.data
    assert [trace.y[0] for trace in (low, high, median)] == pytest.approx([1e-18, 1e-16, 1e-17], rel=1e-6, abs=0.0)
    assert (list(median.x), median.line.dash, list(median.y)) == ([1, 2, 3, 4, 5], "6px,4px", frames[0][2])
    assert [len(frame) for frame in frames] == [len(figure.data)] * 2 and frames[1][2] == [0.1] * 5
    axis = figure.layout.yaxis
    assert -18 < axis.range[0] < -17 and -1 < axis.range[1] < 1, "the middle seed; a band may leave the figure"
    assert len(axis.tickvals) <= 5 and axis.ticktext[0] == "10⁻¹⁵"
    assert other.text == ("<b>Transformer</b>&nbsp;&nbsp;<br><b>none</b>&nbsp;&nbsp;",)
    labels = [[frame[memory_gradients.TRACES_PER_LINE * i + 3][0] for i in range(2)] for frame in frames]
    assert labels[0][0] == pytest.approx(1e-17, rel=0.5, abs=0.0)
    assert abs(np.log10(labels[1][0]) - np.log10(labels[1][1])) > 1, "both lines are at 0.1"


@given(st.floats(-4, 4), st.floats(0.3, 14))
def test_log_ticks_are_few_and_inside_the_axis(low: float, wide: float) -> None:
    ticks = experiments.log_ticks(10**low, 10 ** (low + wide))
    assert len(ticks) <= 8 and (ticks or wide <= 1)
    assert all(10**low <= tick <= 10 ** (low + wide) for tick in ticks)
    assert all(a < b and math.isfinite(b) for a, b in pairwise(ticks))


@given(st.lists(st.floats(0.4, 1.0), min_size=1, max_size=8))
@example([0.4] * 8)
def test_labels_of_runs_are_apart_in_the_order_of_the_line_ends(ends: list[float]) -> None:
    lines = [line(str(i), (0.5, end), (0, 10)) for i, end in enumerate(ends)]
    placed = list(heights(comparison_figure(lines, "steps", (0.4, 1.0))).values())
    order = sorted(range(len(ends)), key=lambda i: (-ends[i], i))
    assert all(placed[a] - placed[b] > 0.069 for a, b in pairwise(order))
    assert min(placed) >= 0 and max(placed) <= 1
    if len(ends) == 1:
        assert placed == [pytest.approx((ends[0] - 0.4) / 0.6)]


def test_a_line_that_falls_is_labelled_where_it_falls() -> None:
    figure = translation.exact_match_by_length([falling("one vector", 3), falling("attention", 8)], 8, 10)
    labels = {note.text: note.x for note in figure.layout.annotations}
    assert 3 < labels["<b>one vector</b>"] < 4 and 8 < labels["<b>attention</b>"] < 9


def test_labels_of_measures_by_heads_move_equally_far_apart() -> None:
    first, second = (name.y for name in FIGURES["measure by heads"][0].layout.annotations)
    assert first < second - 0.08 and first + second == pytest.approx(0.6 + 0.615)
    low = [replace(each, values=each.values * 0.01) for each in HEADS]
    assert min(name.y for name in depth.measure_by_heads(low, (1, 2, 4), "bits", (0.0, 1.0)).layout.annotations) >= 0


def test_labels_of_similarities_are_apart() -> None:
    near, crossed, high = (
        [label.y for label in senses.similarity_by_layer(one, other, 0.0).layout.annotations]
        for one, other in ((SAME, SAME - 0.04), (SAME - 0.04, SAME), (SAME * 0 + 1, SAME * 0 + 0.97))
    )
    assert near[0] - near[1] == pytest.approx(0.11 * 1.04) and crossed[0] < crossed[1]
    assert max(high) <= 1.0 and high[0] - high[1] > 0.1


def test_only_the_dot_changes_between_frames_of_widths() -> None:
    weights = A([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]])
    figure, frames = scaled_attention.weight_bars(weights, 1)
    assert list(figure.data[0].y) == [0.9, 0.1] and [frame[0] for frame in frames] == weights.tolist()
    values = np.arange(1, 19).reshape(2, 3, 3) / 20
    _, frames = scaled_attention.quantity_by_width(WIDTHS, values, scaled_attention.Axis((0.0, 1.0), (0.0, 1.0)), 0)
    for stop, frame in enumerate(frames):
        assert len(frame) == 8 and frame[:6] == frames[0][:6]
        assert frame[7] == [values[1, i, 0] if i == stop else None for i in range(3)]


@pytest.mark.parametrize("seeds", [1, 2, 8, 32])
def test_dots_of_equal_seeds_do_not_overlap_or_leave_their_row(seeds: int) -> None:
    figure = ceilings.final_accuracy_figure(accuracies([1.0] * seeds, [0.9] * seeds), 0.8833, 0.8833)
    for row, dots in enumerate(figure.data):
        assert len(set(dots.y)) == seeds and all(abs(y - row) < 0.45 for y in dots.y)


@pytest.mark.parametrize("lines", [(CEILINGS, LEADS), (CEILINGS, CEILINGS), ([1.0] * 19, [1.0] * 19)])
def test_labels_of_ceilings_keep_clear_of_both_lines(lines: tuple[list[float], list[float]]) -> None:
    figure = ceilings.ceiling_by_probability(CHANCES, *lines, 0.5, [])
    above, below = figure.layout.annotations
    near = [y for line in lines for x, y in zip(CHANCES, line, strict=True) if 0.3 < x < 0.7]
    assert all(below.y < y < above.y for y in near)
    assert (above.text, below.text) == ("ceiling of any sum of word weights", "where its training leads")
    assert (above.yanchor, below.yanchor) == ("bottom", "top")
    assert [list(trace.y) for trace in figure.data] == [pytest.approx(y, abs=5e-5) for y in (*lines, [])]
    middle = CHANCES.index(0.5)
    strokes = {(stroke.x0, stroke.y1) for stroke in figure.layout.shapes}
    assert strokes <= {(0.5, lines[0][middle]), (0.5, lines[1][middle])}
    assert strokes or lines[1] != LEADS, "a stroke connects a distant label with its line"


def test_labels_of_coinciding_points_are_on_different_sides() -> None:
    points = A([[1.0, 1.0], [0.3, 0.3], [0.3, 0.3], [0.3, 0.3], [0.3, 0.3]])
    sides = (
        internals.embedding_map(("far", "consume", "destroy", "not", "human"), points, "--m-rnn").data[0].textposition
    )
    assert len(set(sides[1:])) == 4
    first, second, _ = vectors.label_positions(A([[0.0, 0.0], [0.01, 0.0], [1.0, 1.0]]), ["queen", "princess", "bank"])
    assert first != second


# The diagram of a block

STACK = StackStructure(
    "decoder", 30, 9, 3, 64, 1_536, "RMSNorm", "before", "SiLU", gated=True, parallel=False, causal=True, cross=False,
    windows=(0,) * 30,
)  # fmt: skip


def diagram(stack: StackStructure, outcomes: int = 49_152) -> tuple[go.Figure, int]:
    parts = {"embedding": 10, "attention": 20}
    model = ModelStructure(576, 49_152, "rotary", (stack,), outcomes, True, parts, 30)
    height = structure.diagram_height(model, stack)
    return structure.stack_diagram(model, stack, "--m-transformer", height), height


FIRST = ["Embedding", "RMSNorm", "Self-attention", "+", "RMSNorm", "Feedforward", "+"]
AFTER = ["Embedding", "Self-attention", "+", "LayerNorm", "Feedforward", "+", "LayerNorm"]


@pytest.mark.parametrize(
    ("changes", "outcomes", "titles"),
    [
        ({}, 49_152, [*FIRST, "30 such blocks", "Last RMSNorm", "Output layer"]),
        ({"norm_place": "after", "norm": "LayerNorm", "layers": 1}, 0, [*AFTER, "one block", "Vectors"]),
        ({"parallel": True}, 49_152, ["+"]),
        ({"cross": True}, 49_152, ["+"] * 3),
        ({"parallel": True, "cross": True}, 49_152, ["+"] * 2),
    ],
)
def test_the_boxes_of_a_block_stand_in_their_order_without_overlap(
    changes: dict[str, Any], outcomes: int, titles: list[str]
) -> None:
    figure, height = diagram(replace(STACK, **changes), outcomes)
    labels = sorted(figure.layout.annotations, key=lambda each: each.y)
    found = [match[1] for each in labels if (match := re.search(r"<b>(.*?)</b>", each.text))]
    assert [title for title in found if len(titles) > 3 or title == "+"] == titles
    shapes = [shape for shape in figure.layout.shapes if shape.type == "rect" and shape.line.dash == "solid"]
    boxes = sorted((shape.y0, shape.y1) for shape in shapes)
    assert boxes[0][0] >= 0 and boxes[-1][1] <= height
    assert all(upper[0] > lower[1] for lower, upper in pairwise(boxes))


def test_the_diagram_of_a_block_has_the_sizes_of_its_parts() -> None:
    words = " ".join(each.text for each in diagram(STACK)[0].layout.annotations)
    for part in (
        "9 heads of 64, 3 for keys and values, causal",
        "576 → 1,536 → 576, SiLU, gated",
        "49,152 tokens × 576, rotary positions",
        "576 → 49,152, same weights as the embedding",
    ):
        assert part in words
