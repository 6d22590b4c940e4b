"""What holds for every kind of chart, with made data; and what each kind has of its own."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer import charts
from explorer.charts.axis import log_ticks
from explorer.charts.points import label_sides
from tests.charts.figures import figure_of

NAN = math.nan
A = np.array
BAND = A([[0.5, 0.4, 0.6], [NAN, NAN, NAN], [0.25, 0.2, 0.3]])


def line(label: str = "GRU", values: np.ndarray = BAND, **more: object) -> charts.Line:
    return charts.Line(label, "the GRU <1>", "--m-gru", "6px,4px", A([0.0, 10.0, 20.0]), values, **more)  # type: ignore[arg-type]


def bars(title: str, *values: float) -> charts.Bars:
    return charts.Bars(title, A(values), "--m-ngram")


STEP, LOSS = charts.Axis("step", (0, 20)), charts.Axis("nats", log=True)
RULES = [charts.level(0.3, "guess"), charts.limit(10, "trained"), charts.selection(5)]
CHARTS: dict[str, charts.Chart] = {
    "lines": charts.LineChart("Loss by step", [line(), line("", A([1.0, 2.0, 3.0]))], STEP, LOSS, RULES),
    "titles": charts.LineChart("Loss", [line()], STEP, charts.ACCURACY, labels="title", digits="power"),
    "no lines": charts.LineChart("Loss", [], STEP, LOSS),
    "no values": charts.LineChart("Loss", [line(values=np.full((3, 3), NAN))], charts.Axis(log=True), LOSS),
    "dots on lines": charts.LineChart("Loss", [line(dots="hollow")], charts.Axis(log=True), LOSS, labels="none"),
    "dots": charts.DotChart(
        "Distances",
        [
            charts.DotRow("<none>", "--m-rnn", A([0.0, 1e-7])),
            charts.DotRow("sines", "--m-rnn", A([0.1]), hollow=True, error=A([0.05]), group=1),
        ],
        charts.Axis("share", (1e-9, 1), log=True, ticks={1e-9: "0", 0.1: "0.1"}),
        [charts.limit(1e-5, "rounding", left=True)],
    ),
    "waterfall": charts.waterfall(["not", "<b>"], [-1.25, 2.0], 0.125, "Parts of a sum."),
    "bars": charts.BarChart("Bits", ["A", "<B>"], [bars("bits", 2.5, 1.25)], digits=2, solid=[1]),
    "groups": charts.BarChart(
        "Weights",
        ["not", "human"],
        [charts.Bars("first", A([-0.5, 1.0]), "--m-rnn", below="--soft"), charts.Bars("last", A([0.1, 0.2]), "--ink")],
    ),
    "upright": charts.BarChart(
        "Agreement",
        ["1", "2"],
        [charts.Bars("mean", A([0.5, 0.6]), "--m-rnn", A([0.4, 0.5]), A([0.7, 0.8]))],
        charts.Axis("share", (0, 1)),
        upright=True,
        names_title="occurrences",
    ),
    "details": charts.BarChart(
        "Parameters", ["<embedding>"], [charts.Bars("parameters", A([1_200]), "--m-rnn")], digits=0, details=["65 x 32"]
    ),
    "heat map": charts.HeatMap(
        "Seeds", "share", ["GRU", "<RNN>"], ["10", "50"], A([[1.0, NAN], [0.0, 0.5]]), [["8", ""], ["0", "4"]]
    ),
    "signed map": charts.HeatMap(
        "Restored share",
        "share",
        ["a", "b"],
        ["c"],
        A([[-0.5], [1.0]]),
        signed=True,
        upward=True,
        legend=["-1", "0", "1"],
        framed=(1, 0),
        hover=[["a, c"], ["b, c"]],
    ),
    "points": charts.PointChart("Words", A([[0, 0], [0.01, 0], [1, 1.0]]), ["<a>", "b", "c"], "--m-rnn", marked="b"),
    "many points": charts.PointChart(
        "Lengths", A([[1.0, 2.0], [9.0, 3.0]]), [], "--m-rnn", charts.Axis("count", log=True), charts.Axis("length")
    ),
    "drawing": charts.Drawing("A line.", [{"type": "scatter", "x": [1], "y": [2], "name": "a"}], {"margin": {"l": 2}}),
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_can_be_drawn_said_and_read(name: str) -> None:
    chart = CHARTS[name]
    figure_of(chart)  # which plotly accepts
    plot = json.loads(json.dumps(chart.plot(), allow_nan=False))
    assert "nan" not in chart.text and chart.text.endswith(".") and len(chart.text) > 6
    names = [trace.get("name") for trace in plot["data"]]
    assert len(names) == len(chart.traces())
    for readout in chart.readouts:
        for part in ("trace", "low", "high"):
            assert readout.get(part, 0) in range(len(names))  # type: ignore[operator]
        assert {"title", "colour", "digits"} <= readout.keys()
    markup = json.dumps([plot["layout"], *(trace.get("text") for trace in plot["data"])], default=str)
    assert not any(f"<{text}>" in markup for text in ("none", "B", "RNN", "a", "1", "embedding"))


def test_only_lines_with_a_name_can_be_read_and_are_labelled() -> None:
    chart = CHARTS["lines"]
    assert [(each["trace"], each["low"], each["high"]) for each in chart.readouts] == [(2, 0, 1)]
    assert [trace["name"] for trace in chart.traces()] == [
        "GRU the GRU <1>, lowest seed",
        "GRU the GRU <1>, highest seed",
        "GRU the GRU <1>, median",
        "the GRU <1>",
    ]
    assert "the GRU <1> from 0.5 to 0.25" in chart.text
    labels = [note["text"] for note in chart.plot()["layout"]["annotations"]]
    assert labels == ["<b>GRU</b>", "guess", "trained"]


def test_a_logarithmic_axis_takes_values_in_its_unit() -> None:
    layout = CHARTS["lines"].plot()["layout"]
    low, high = (10**end for end in layout["yaxis"]["range"])
    assert low < 0.2 and high > 3.0 and layout["shapes"][0]["y0"] == 0.3
    guess = next(note for note in layout["annotations"] if note["text"] == "guess")
    assert guess["y"] == pytest.approx(math.log10(0.3)) and guess["yanchor"] == "top", "lines come from above"


def test_the_names_in_a_saved_file_are_those_of_the_legend_and_negative_bars_have_a_colour() -> None:
    first, second = CHARTS["groups"].traces()
    assert (first["name"], first["marker"]["color"]) == ("first", ["var(--soft)", "var(--m-rnn)"])
    assert CHARTS["groups"].text == "Weights: not first -0.5, last 0.1; human first 1, last 0.2."
    assert CHARTS["bars"].text == "Bits: A 2.50; <B> 1.25." and second["marker"]["color"] == "var(--ink)"


def test_a_missing_value_has_no_tile_and_is_not_said() -> None:
    (trace,) = CHARTS["heat map"].traces()
    assert trace["z"] == [[1.0, None], [0.0, 0.5]] and trace["text"][1][1] == "4"
    assert CHARTS["heat map"].text == "Seeds. GRU: 10 8. <RNN>: 10 0, 50 4."
    assert CHARTS["signed map"].text.endswith("the highest value is 1.00 (b, c).")


def test_dots_below_the_first_tick_stand_there_and_groups_stand_apart() -> None:
    first, second = CHARTS["dots"].traces()
    assert first["x"] == [1e-9, 1e-7] and second["y"] == [pytest.approx(1.8)]
    assert (first["marker"]["symbol"], second["marker"]["symbol"]) == ("circle", "diamond")


def test_names_of_close_points_stand_on_different_sides() -> None:
    first, second, _ = label_sides(A([[0.0, 0.0], [0.01, 0.0], [1.0, 1.0]]), ["queen", "princess", "bank"])
    assert first != second


@pytest.mark.parametrize("name", CHARTS)
def test_a_notebook_has_the_colours_of_the_light_theme_and_names_what_a_page_reads(name: str) -> None:
    chart = CHARTS[name]
    figure = charts.notebook_figure(chart, "<title>")
    assert "var(" not in figure.to_json() and figure.layout.title.text == "&lt;title&gt;"
    if len(titles := [readout["title"] for readout in chart.readouts]) > 1:
        assert [trace.name for trace in figure.data if trace.showlegend] == titles


def test_a_table_sends_only_what_is_given() -> None:
    columns = {
        "name": charts.Column("model", "model", wrap=True),
        "exact": charts.Column("exact", "strip", range=(0.0, 1.0)),
    }
    rows: list[charts.Row] = [
        {"name": charts.Cell("RNN", "--m-rnn"), "exact": charts.strip("0.5", [0.5], 0.75)},
        {"name": "–"},
    ]
    data = charts.Table(columns, rows, "Results", keys=("a", "b"), ruled=(1,)).data("file")
    assert data["columns"] == [
        {"key": "name", "label": "model", "kind": "model", "wrap": True, "align": "left"},
        {"key": "exact", "label": "exact", "kind": "strip", "range": (0.0, 1.0), "align": "left"},
    ]
    first, second = data["rows"]  # type: ignore[misc]
    assert first["cells"]["name"] == {"text": "RNN", "colour": "--m-rnn"}  # type: ignore[index]
    assert first["cells"]["exact"] == {"text": "0.5", "values": [0.5], "mark": 0.75}  # type: ignore[index]
    assert first["key"] == "a" and second == {"cells": {"name": {"text": "–"}}, "key": "b", "rule": True}  # type: ignore[index]
    assert (data["file"], data["label"]) == ("file", "Results")


@given(st.floats(1e-9, 1e9), st.floats(1.01, 1e9))
def test_ticks_of_a_logarithmic_axis_are_few_and_inside(low: float, factor: float) -> None:
    ticks = log_ticks(low, low * factor)
    assert len(ticks) <= 6 and all(low <= tick <= low * factor for tick in ticks)
    assert all(0 < len(label) <= 9 for label in ticks.values())


def test_round_ticks() -> None:
    assert list(log_ticks(0.01, 8).values()) == ["0.01", "0.03", "0.1", "0.3", "1", "3"]
    assert list(log_ticks(1.2, 1.9)) == [1.2, 1.4, 1.6, 1.8]
    assert list(log_ticks(1e-9, 1e3).values())[:2] == ["10⁻⁹", "10⁻⁶"]
    assert list(charts.doubling_ticks(2, 70)) == [2, 4, 8, 16, 32, 64]


def test_a_range_contains_all_finite_values_and_those_that_are_asked_for() -> None:
    assert charts.span_of([A([1.0, NAN]), None, [3.0]], 0.0) == (1.0, 3.0)
    assert charts.span_of([[1.0]], 0.06, least=0.0)[0] == 0.0
    assert charts.span_of([], log=True) == (1.0, 10.0)
    low, high = charts.span_of([A([0.0, 0.1, 10.0])], 0.0, log=True)
    assert 0.09 < low < 0.1 and 10 < high < 11


def test_a_waterfall_starts_each_bar_where_the_last_one_ended() -> None:
    chart = charts.waterfall(["a", "<b>"], [0.5, -0.75], bias=0.25)
    bars, _, numbers = figure_of(chart).data
    assert list(bars.x) == [0.25, 0.5, -0.75, 0.0] and list(bars.base) == [0.0, 0.25, 0.75, 0.0]
    assert figure_of(chart).layout.yaxis.ticktext == ("bias", "a", "&lt;b&gt;", "together")
    assert chart.text == "bias +0.25, a +0.50, <b> −0.75" and len(numbers.text) == 4
    assert charts.waterfall(["a"], [1.0], words="One part.").text == "One part."


def test_a_heat_map_may_label_each_of_many_rows() -> None:
    rows = [f"row {i}" for i in range(17)]
    few, all_rows = (
        charts.HeatMap("A map", "share", rows, ["a"], np.ones((17, 1)), most_labels=most) for most in (12, 17)
    )
    shown = [[name for name in figure_of(chart).layout.yaxis.ticktext if name] for chart in (few, all_rows)]
    assert len(shown[0]) < 12 and shown[1] == rows
