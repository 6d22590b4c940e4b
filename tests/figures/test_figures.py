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

from explorer.figures.comparison import Line, comparison_figure
from explorer.figures.language import dynamic_evaluation as dynamic
from explorer.figures.language import loss_by_context, text
from explorer.figures.recurrent import memory_gradients, memory_string, recall
from explorer.figures.runs import experiments, growth
from explorer.figures.runs.learning_curves import learning_curve
from explorer.figures.seq2seq import translation
from explorer.figures.transformer import cost, depth, induction, scaled_attention, structure
from explorer.figures.words import linear_readout_ceiling as ceilings
from explorer.figures.words import model_internals as internals
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


READ = np.arange(64, 20_033, 64)


def mean_until_end(*ends: float) -> list[dynamic.RunningMean]:
    return [dynamic.RunningMean(READ, np.full(len(READ), end)) for end in ends]


LEARNED, (STOOD,) = dynamic.RunningMean(READ, 2.3 - 0.05 * READ / READ[-1]), mean_until_end(2.31)
LONGER = dynamic.RunningMean(np.arange(16, 40_001, 16), np.full(2_500, 2.28))


def adapting(a: Any, b: Any, y: tuple[float, float] = (2.2, 2.4), ngram: Any = None) -> go.Figure:
    lines = (*ngram, "--m-ngram", "8px,3px,2px,3px") if ngram else None
    return dynamic.dynamic_evaluation_figure(a, b, "--m-gru", y, "characters read", "bits", lines)


WORDS = ("<BOS>", "human", "not", "destroy")
CHANCES = [i / 20 for i in range(1, 20)]
CEILINGS = [1 - min(p, 1 - p) / 3 for p in CHANCES]
LEADS = [2 / 3 if 0.4 < p < 0.6 else c for p, c in zip(CHANCES, CEILINGS, strict=True)]
HEADS = [
    depth.HeadMeasure("trained", "--m-transformer", "solid", A([[NAN] * 3, [0.2, 0.45, 0.25], [0.5, 0.9, 0.6]])),
    depth.HeadMeasure("untrained", "--soft", "6px,4px", A([[NAN] * 2, [0.02, 0.03], [0.61, 0.62]])),
]
RECALL = [
    line("open", (1, 1, 1, 1), (1, 10, 50, 1_000), "solid"),
    line("usual", (0.5,) * 4, (1, 10, 50, 1_000), "6px,4px"),
]
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


SEEDS = A([[0.5, 0.4, 0.6], [0.7, 0.5, 0.9], [0.8, 0.8, 0.8], [1.0, 0.7, 1.0]])
FIGURES: dict[str, go.Figure] = {
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
    "dynamic evaluation": adapting(LEARNED, STOOD),
    "dynamic evaluation beside an n-gram": adapting(LEARNED, STOOD, ngram=(LONGER, LONGER)),
    "an interrupted evaluation": adapting(dynamic.RunningMean(READ[:1], A([3.0])), STOOD, (2.2, 3.1)),
    "loss by context": loss_by_context.loss_by_context(
        [context_line("RNN", 3.0, 2.0, 1.5), context_line("LSTM", 3.0, 1.9, 1.2)], 64
    ),
    "cost by length": loss_by_context.cost_by_length(
        [context_line("RNN", 0.02, 0.1, 2.0, band=False), context_line("explicit", 0.5, 5.0, 50.0, hollow=True)],
        "s",
        1_024,
    ),
    "a short logarithmic axis": loss_by_context.cost_by_length(
        [context_line("RNN", 0.03, 0.1, 0.4, band=False)], "s", 64
    ),
    "accuracy by distance": loss_by_context.accuracy_by_distance(
        [context_line("RNN", 1.0, 0.9, 0.4)], 0.27, "always )", 32, 60
    ),
    "accuracy by distance, without an end of the context": loss_by_context.accuracy_by_distance(
        [context_line("RNN", 1.0, 0.9, 0.4)], 0.27, "always )", 64, 60
    ),
    "training and held-out loss": losses(10.0),
    "losses without a best step": losses(None),
    "gradient norms": text.gradient_norms(
        {
            "GRU": ("--m-gru", "solid", (A([5.0, 15.0]), A([0.5, INF]))),
            "RNN": ("--m-rnn", "3px,3px", (A([5.0, 15.0]), A([2.0, 1.0]))),
        },
        20,
    ),
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
    "final values": final_figure(
        final_values("none", "6px,4px", [3.0, 3.2], [9.0, 90.0], [4.0, 4.2]),
        final_values("clip", "solid", [3.0, 3.1], [NAN, NAN], [3.2, INF]),
    ),
    "a reference inside the frame": final_figure(
        final_values("", "solid", [3.0]), top=7.0, reference=(6.02, "blind guessing")
    ),
    "a reference outside the frame": final_figure(final_values("", "solid", [3.0]), reference=(6.02, "blind guessing")),
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
    "learning curve": curve(SEEDS, (0.8833, "ceiling of counting")),
    "learning curve at its beginning": curve(SEEDS[:0], (0.8833, "")),
    "learning curve without a ceiling": curve(SEEDS[:1]),
    "exact match by step": translation.exact_match_by_step([], 800),
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
    "ceiling by probability": ceilings.ceiling_by_probability(CHANCES, CEILINGS, LEADS, 0.5, [0.66, 0.68]),
    "attention map": internals.attention_map(A([[0.9, 0.1, NAN, 0]] * 3 + [[NAN] * 4]), WORDS),
    "a large attention map has no numbers": internals.attention_map(np.eye(13), [str(i) for i in range(13)]),
    "contributions": internals.contributions(WORDS, A([0.5, -1.25, 2.0, -3.0]), 0.125),
    "answer after each token": internals.answer_after_each_token(
        WORDS, A([0.5, 0.4, 0.7, 1.0]), "--m-rnn", ("collapse", "sustain")
    ),
    "word weights": internals.word_weights(("a", "<EOS>"), A([[0.5, -2.0], [-0.5, 2.0]]), ("collapse", "sustain")),
    "embedding map": internals.embedding_map(
        ("not", "<EOS>", "human"), A([[1.0, -0.5], [-2.0, 0.25], [0.0, 0.0]]), "--m-rnn"
    ),
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
        (
            loss_by_context.loss_by_context([context_line(c, 3.0, 2.0, y) for c, y in (("a", 1.5), ("b", 3.5))], 64),
            None,
        ),
        (adapting(*mean_until_end(2.398, 2.399), ngram=mean_until_end(2.397, 2.3975)), None),
        *(
            (final_figure(final_values("a", "solid", [one]), final_values("b", "solid", [other])), (first, second))
            for one, other, first, second in [(3.0, 6.0, 1 / 7, 1.0), (2.5, 9.0, 0.0, 1.0), (3.0, INF, 1 / 7, 1.0)]
        ),
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
    assert 10 ** FIGURES["measured and predicted cost"].layout.yaxis.range[0] < 1.0
    assert 10 ** FIGURES["measured and predicted cost"].layout.yaxis.range[1] > 256
    low, high = FIGURES["contributions"].layout.xaxis.range
    assert low < -1.625 and high > 1.375
    low, high = FIGURES["word weights"].layout.xaxis.range
    assert -low == high > 2
    layout = FIGURES["embedding map"].layout
    assert layout.xaxis.range == layout.yaxis.range and layout.xaxis.range[1] > 2
    low, high = FIGURES["ceiling by probability"].layout.yaxis.range
    assert low < 0.66 and high > 1
    assert FIGURES["recall by length"].layout.xaxis.range[1] == pytest.approx(3, abs=0.05)
    low, high = FIGURES["loss on a string"].layout.yaxis.range
    assert low <= 0 < 1.1 <= high


def test_signs_other_than_colour_tell_marks_apart() -> None:
    loss = FIGURES["training and held-out loss"].data
    assert loss[0].line.width > loss[1].line.width
    dots = FIGURES["final values"].data
    assert dots[1].x[0] < 0 < dots[3].x[0], "side by side, not one over the other"
    colours = FIGURES["contributions"].data[0].marker.color
    assert colours[0] == colours[1] != colours[2]
    hollow = cost.cost_figure([cost_line("b", 1, 2, 3, hollow=True)], "x", "y", (32, 64, 128))
    assert hollow.data[1].marker.line.width == 2 and "○" in hollow.layout.annotations[0].text
    parameters = FIGURES["parameters"].layout
    assert parameters.yaxis.range[0] > parameters.yaxis.range[1], "the first part stands on top"
    assert "4,096" in parameters.annotations[0].text and "<b>&lt;b&gt;</b>" in parameters.annotations[1].text


def test_long_lines_are_thinned_and_keep_their_ends_and_labels() -> None:
    assert len(FIGURES["dynamic evaluation"].data[0].x) <= 200
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


def test_only_the_dot_changes_between_frames_of_widths() -> None:
    weights = A([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]])
    figure, frames = scaled_attention.weight_bars(weights, 1)
    assert list(figure.data[0].y) == [0.9, 0.1] and [frame[0] for frame in frames] == weights.tolist()
    values = np.arange(1, 19).reshape(2, 3, 3) / 20
    _, frames = scaled_attention.quantity_by_width(WIDTHS, values, scaled_attention.Axis((0.0, 1.0), (0.0, 1.0)), 0)
    for stop, frame in enumerate(frames):
        assert len(frame) == 8 and frame[:6] == frames[0][:6]
        assert frame[7] == [values[1, i, 0] if i == stop else None for i in range(3)]


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
