"""What a figure shows: one table of parts with given values for all figures, then what each has of its own."""

from __future__ import annotations

import json
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
from syrupy.assertion import SnapshotAssertion

from explorer.figures.attention import layers_and_heads, patching
from explorer.figures.comparison import Line, comparison_figure
from explorer.figures.language import temperature, tokens
from explorer.figures.recurrent import memory_gradients, memory_string, recall
from explorer.figures.runs import experiments, growth
from explorer.figures.seq2seq import translation
from explorer.figures.seq2seq.translation_steps import curves_by_position, teacher_forcing_lines
from explorer.figures.transformer import cost, depth, induction, scaled_attention, structure
from explorer.figures.words import sense_similarity as senses
from explorer.figures.words import word_vectors as vectors
from explorer.labs.sentence_encoder.state import MAX_REAL_SENTENCES
from explorer.lessons.measure import MOST_SENTENCES
from explorer.models.structure import ModelStructure, StackStructure

NAN, INF = math.nan, math.inf
A = np.array


def line(label: str, y: tuple[float, ...], x: tuple[float, ...] = (0, 10, 20), dash: str = "3px,3px") -> Line:
    mean = A(y, float)
    return Line(label, "RNN", "--m-rnn", dash, A(x, float), mean, mean - 0.1, mean + 0.1)


def cost_line(name: str, *y: float, hollow: bool = False) -> cost.CostLine:
    return cost.CostLine(name, "--m-gru", "solid", A([32, 64, 128]), A(y, float), 2.0 * A([32, 64, 128]), hollow)


def growth_line(name: str, *mean: float) -> growth.GrowthLine:
    x, y = 10.0 ** (3 + np.arange(len(mean))), A(mean)
    return growth.GrowthLine(name, "--m-gru", "solid", x, y, y - 0.1, y + 0.1)


def falling(label: str, last: int) -> Line:
    """Return a line that is 1 up to a length and 0 after it."""
    x = np.arange(1.0, 11.0)
    mean = np.where(last >= x, 1.0, 0.0)
    return Line(label, label, "--m-gru", "solid", x, mean, mean, mean)


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


def ratios(*marked: float) -> list[tuple[str, float]]:
    return [("--m-rnn", height) for height in marked]


FIGURES: dict[str, go.Figure] = {
    "rollout map": layers_and_heads.rollout_map(A([[1.0, NAN], [0.05, 0.95]]), ["a", "b"]),
    "logit lens": layers_and_heads.logit_lens(
        ["embedding", "layer 1"], ["x", "y"], [["a", "<i>"], ["c", "d"]], A([[0.1, 0.2], [0.3, 1.0]])
    ),
    "head importance, with two standard errors": layers_and_heads.head_importance(
        ["a", "b", "c"], A([0.1, 0.5, -0.2]), A([0.01, 0.02, 0.03]), "--m-transformer", "rise"
    ),
    "map of shares": patching.share_map(
        ["embedding", "layer 1", "layer 2"],
        ["king / queen", "<of>"],
        A([[1.0, 0.01], [-0.3, NAN], [1.4, 0.5]]),
        (2, 1),
        legend=True,
    ),
    "answers to both texts": patching.patched_answers(
        ["<s>", "b"], *A([[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]]), "--m-transformer"
    ),
    "runs in comparison": comparison_figure(
        [line("1", (0.5, 0.7, 0.9)), line("2", (0.5, 0.7, 0.9))], "steps", (0.4, 1.0)
    ),
    "zero on a logarithmic axis": comparison_figure(
        [line("1", (0.5, 0.1, 0.0))], "steps", (1e-3, 1.0), log_x=True, log_y=True
    ),
    "a diverged run": comparison_figure([line("1", (NAN, 0.7, INF)), line("2", (0.5, 0.7, 0.9))], "steps", (0.4, 1.0)),
    "a run without points": comparison_figure(
        [line("2", (), ()), line("1", (0.5, 0.7, 0.9))], "steps", (0.4, 1.0), log_x=True, log_y=True
    ),
    "no runs": comparison_figure([], "steps", (0.4, 1.0)),
    "measure by temperature": temperature.measure_by_temperature(
        [MEASURE, MEASURE], A([0.0, 1.0, 2.0]), 0.7, [], (0.0, 1.0)
    ),
    "human text beside generated text": temperature.measure_by_temperature(
        [MEASURE], A([0.0, 1.0, 2.0]), 0.7, [("--m-ngram", 0.5), ("--m-rnn", 0.51), ("--m-gru", 0.52)], (0.0, 1.0)
    ),
    "human text near the top": temperature.measure_by_temperature(
        [MEASURE], A([0.0, 1.0, 2.0]), 0.7, ratios(0.95), (0.0, 1.0)
    ),
    "human text with a negative measure": temperature.measure_by_temperature(
        [MEASURE], A([0.0, 1.0, 2.0]), 0.7, ratios(-1.25), (-3.0, 0.0)
    ),
    "measure by vocabulary": tokens.measure_by_vocabulary([BPE, CHARACTERS], 500, "characters per token"),
    "shares by vocabulary": tokens.measure_by_vocabulary(
        [tokens.TokenizerLine("Words", "solid", A([2, 3]), A([0.5, 0.25]))], 2, "unknown", percent=True
    ),
    "origins of rows": tokens.row_origins(A([[100, 900], [110, 200], [120, 500]]), 1_000),
    "honest and leaky scores": tokens.split_scores_figure(
        [tokens.SplitScores("blocks", 2.19, 0.82), tokens.SplitScores("lines", 2.0, 2.001)], "--m-ngram"
    ),
    "a score near zero": tokens.split_scores_figure([tokens.SplitScores("blocks", 1.0, 0.01)], "--m-ngram"),
    "loss on a string": memory_string.string_loss_figure(
        [
            line("kept", (1.0, 0.6, 0.01), (2, 10, 200), "solid"),
            line("cut", (1.0, 0.6, 0.3), (2, 10, 200), "2px,4px"),
        ],
        200,
        (0.297, "floor 0.297"),
    ),
    "recall by length": recall.accuracy_by_length(RECALL, 50, 1_000, 0.25),
    "recall by step": recall.accuracy_by_step(RECALL, 400, 0.5),
    "recall by step, without runs": recall.accuracy_by_step([], 400, 0.5),
    "the end of early stopping": recall.train_and_test_accuracy(RECALL, 300, 30),
    "shares of solved seeds": recall.solved_shares(
        A([[1.0, NAN], [0.0, 0.5]]),
        [["8 of 8", ""], ["0 of 8", "4 of 8"]],
        ["GRU", "RNN"],
        ["10", "50"],
        "symbols",
    ),
    "low curves": experiments.low_comparison_figure(
        [line("a", (6.0, 3.0), (0, 9)), line("b", (6.0, 3.01), (0, 9))], "step", (2.9, 6.0), 9.0
    ),
    "plain numbers on a logarithmic axis": experiments.low_comparison_figure(
        [line("a", (6.0, 200.0), (0, 9))], "step", (2.8, 260.0), 9.0, log_y=True
    ),
    "growth": growth.growth_figure(
        [growth_line("GRU", 2.5, 2.0), growth_line("RNN", 2.5)],
        "parameters",
        (900.0, 2e6),
        [1e3, 15.7e3, 1e6],
        (1.4, 3.5),
    ),
    "exact match by length": translation.exact_match_by_length([falling("one", 3), falling("attention", 99)], 8, 10),
    "exact match by step": translation.exact_match_by_step([], 800),
    "exact match by ablation": translation.exact_match_by_ablation(
        A([[[1.0, 0.5], [0.5, 0.5]], [[NAN, NAN], [0.1, 0.3]]]), ["as it is", "looks evenly"], ["one", "attention"]
    ),
    "exact match by format": translation.exact_match_by_format(
        A([[0.5, NAN]]), ["3 march 1997"], ["one vector", "attention"]
    ),
    "accuracy of the copy task": translation.copy_accuracy_by_step([falling("attention", 3)], 10, 0.05),
    "accuracy by position": curves_by_position(teacher_forcing_lines(GIVEN, OWN, "the <model>", "--m-gru"), loss=False),
    "measured and predicted cost": cost.cost_figure(
        [cost_line("GRU", 1.0, 2.0, NAN)], "length", "seconds", (32, 64, 128)
    ),
    "no measured cost": cost.cost_figure([cost_line("a", NAN, NAN, NAN)], "x", "y", (32, 64, 128)),
    "cost at many sizes": cost.cost_figure([cost_line("a", 1, 2, 3)], "x", "y", tuple(2**i for i in range(5, 12))),
    "parameters": cost.parameter_bars([("expand", 4096, "= d m"), ("<b>", 12, "= d")], "--m-transformer"),
    "measure by heads": depth.measure_by_heads(HEADS, (1, 2, 4), "bits", (0.0, 1.0)),
    "next symbols": induction.next_symbol_map(
        "bab", 2, ["two", "one"], A([[0.1, 0.2, 0.9], [0.1, 0.1, 0.1]]), ["xyb", "xyz"]
    ),
    "next symbols of a row without a repetition": induction.next_symbol_map("b", None, ["two"], A([[0.1]]), ["x"]),
    "quantity by width": BY_WIDTH,
    "similarity by layer": senses.similarity_by_layer(SAME, OTHER, -0.1),
    "equal similarities": senses.similarity_by_layer(SAME, SAME, 0.0),
    "word map": vectors.word_map(A([[0.0, 0.0], [1.0, 0.5], [0.2, -0.3]]), ["<a>", "b", "c"], "--m-cbow", ["b"]),
    "agreement by count": vectors.agreement_by_count(["1–9", "≥10"], A([[0.1, 0.5], [0.3, 0.7]]), "--m-cbow"),
    "length by count": vectors.length_by_count(A([1, 100]), A([1.0, 2.0]), "--m-cbow"),
}


def parts_of(figure: go.Figure) -> list[str]:
    """Return the traces and the layout of a figure without its template, each as a line; numbers have five digits."""

    def round_numbers(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: round_numbers(each) for name, each in value.items() if name != "template"}
        if isinstance(value, list | tuple | ndarray):
            return [round_numbers(each) for each in value]
        return float(f"{value:.5g}") if isinstance(value, float | np.floating) else value

    described = round_numbers(figure.to_dict())
    return [json.dumps(part, default=int) for part in (*described["data"], described["layout"])]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_these_parts(name: str, snapshot: SnapshotAssertion) -> None:
    assert parts_of(FIGURES[name]) == snapshot


def heights(figure: go.Figure) -> dict[str, float]:
    """Return the heights of the labels at the ends of the lines, as shares of the figure."""
    labels = [note for note in figure.layout.annotations if note.yref == "paper"]
    return {note.text.split("</span> ")[-1].replace("<b>", "").replace("</b>", ""): note.y for note in labels}


def by_width(end: float, log: bool) -> go.Figure:
    axis = scaled_attention.Axis((0.001, 1.0), (0.001, 1.0), log=log)
    return scaled_attention.quantity_by_width(WIDTHS, np.full((2, 3, 3), end), axis, 0)[0]


@pytest.mark.parametrize(
    ("figure", "ends"),
    [
        (recall.accuracy_by_length(RECALL, 50, 1_000, 0.5), None),
        (
            memory_string.string_loss_figure(
                [line("a", (1.0, 0.0), (2, 9)), line("b", (1.0, 1.0), (2, 9))], 9, (0.2, "")
            ),
            None,
        ),
        (cost.cost_figure([cost_line("a", 1, 2, 300.0), cost_line("b", 1, 2, 301.0)], "x", "y", (32, 64, 128)), None),
        (by_width(0.999, False), (1.0, 1.0)),
        (by_width(1.0, True), (1.0, 1.0)),
    ],
)
def test_labels_name_the_ends_of_their_lines(figure: go.Figure, ends: tuple[float, ...] | None) -> None:
    found = list(heights(figure).values())
    assert len(found) > 1 and all(0.0 <= height <= 1.0 for height in found)
    assert ends is None or found == pytest.approx(ends, abs=0.01)


def test_axes_contain_their_values_with_a_margin() -> None:
    importance = FIGURES["head importance, with two standard errors"].layout
    assert importance.xaxis.range[0] < -0.26 and importance.xaxis.range[1] > 0.54 and importance.yaxis.range[0] > 2
    assert 10 ** FIGURES["measured and predicted cost"].layout.yaxis.range[0] < 1.0
    assert 10 ** FIGURES["measured and predicted cost"].layout.yaxis.range[1] > 256
    assert FIGURES["recall by length"].layout.xaxis.range[1] == pytest.approx(3, abs=0.05)
    low, high = FIGURES["loss on a string"].layout.yaxis.range
    assert low <= 0 < 1.1 <= high
    for scale, bounds in ((3, (3.0, 4.0)), (0, (0.0, 1.0))):
        low, high = curves_by_position(
            teacher_forcing_lines(scale * GIVEN, scale * OWN, "it", "--m-gru"), loss=True
        ).layout.yaxis.range
        assert low == 0.0 and bounds[0] < high < bounds[1]


def test_signs_other_than_colour_tell_marks_apart() -> None:
    similarity = FIGURES["similarity by layer"].data
    assert similarity[2].line.dash != similarity[5].line.dash
    position = FIGURES["accuracy by position"].data
    assert position[2].line.dash != position[5].line.dash
    hollow = cost.cost_figure([cost_line("b", 1, 2, 3, hollow=True)], "x", "y", (32, 64, 128))
    assert hollow.data[1].marker.line.width == 2 and "○" in hollow.layout.annotations[0].text
    parameters = FIGURES["parameters"].layout
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
    vocabulary = FIGURES["measure by vocabulary"].data[0]
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


def test_gradient_lines_are_medians_between_the_extreme_seeds_in_every_frame() -> None:
    decay = np.stack([0.1 * 10.0 ** np.linspace(-power, 0, 5) for power in (16, 17, 18)])  # three seeds, five symbols
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
    assert [len(frame) for frame in frames] == [len(figure.data)] * 2 and frames[1][2] == [1.0] * 5
    axis = figure.layout.yaxis
    assert -18 < axis.range[0] < -17 and -1 < axis.range[1] < 1, "the middle seed; a band may leave the figure"
    assert len(axis.tickvals) <= 5 and axis.ticktext[0] == "10⁻¹⁵"
    assert other.text == ("<b>Transformer</b>&nbsp;&nbsp;<br><b>none</b>&nbsp;&nbsp;",)
    labels = [[frame[memory_gradients.TRACES_PER_LINE * i + 3][0] for i in range(2)] for frame in frames]
    assert labels[0][0] == pytest.approx(1e-17, rel=0.5, abs=0.0)
    assert abs(np.log10(labels[1][0]) - np.log10(labels[1][1])) > 1, "both lines are at 1"


@given(st.floats(-4, 4), st.floats(0.3, 14))
def test_log_ticks_are_few_and_inside_the_axis(low: float, wide: float) -> None:
    ticks = experiments.log_ticks(10**low, 10 ** (low + wide))
    assert len(ticks) <= 8 and (ticks or wide <= 1)
    assert all(10**low <= tick <= 10 ** (low + wide) for tick in ticks)
    assert all(a < b and math.isfinite(b) for a, b in pairwise(ticks))


@given(st.floats(0.4, 1.0), st.booleans())
@example(0.4, False)
def test_a_label_of_a_run_stands_where_its_line_ends(end: float, log: bool) -> None:
    long, early = line("a", (0.5, end), (1, 10)), line("b", (0.5, end), (1, 5))
    notes = comparison_figure([long, early], "steps", (0.4, 1.0), log_x=log, log_y=log).layout.annotations
    assert [note.x for note in notes] == pytest.approx([1.0, math.log(10) / math.log(20) if log else 0.5])
    share = math.log(end / 0.4) / math.log(2.5) if log else (end - 0.4) / 0.6
    assert [note.y for note in notes] == pytest.approx([share, share], abs=1e-6)


def test_a_line_that_falls_is_labelled_where_it_falls() -> None:
    figure = translation.exact_match_by_length([falling("one vector", 3), falling("attention", 8)], 8, 10)
    labels = {note.text: note.x for note in figure.layout.annotations}
    assert 3 < labels["<b>one vector</b>"] < 4 and 8 < labels["<b>attention</b>"] < 9


def test_two_similarities_that_end_alike_have_one_label() -> None:
    for apart, names in ((0.01, ["<b>both</b>"]), (0.1, [f"<b>{name}</b>" for name in (senses.SAME, senses.OTHER)])):
        notes = senses.similarity_by_layer(SAME, SAME - apart, 0.0).layout.annotations
        assert [note.text for note in notes] == names


def test_only_the_dot_changes_between_frames_of_widths() -> None:
    weights = A([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]])
    figure, frames = scaled_attention.weight_bars(weights, 1)
    assert list(figure.data[0].y) == [0.9, 0.1] and [frame[0] for frame in frames] == weights.tolist()
    values = np.arange(1, 19).reshape(2, 3, 3) / 20
    _, frames = scaled_attention.quantity_by_width(WIDTHS, values, scaled_attention.Axis((0.0, 1.0), (0.0, 1.0)), 0)
    for stop, frame in enumerate(frames):
        assert len(frame) == 8 and frame[:6] == frames[0][:6]
        assert frame[7] == [values[1, i, 0] if i == stop else None for i in range(3)]


def test_labels_of_coinciding_points_are_on_different_sides() -> None:
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
