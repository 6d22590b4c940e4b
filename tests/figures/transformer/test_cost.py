from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.transformer.cost import TRACES_PER_LINE, CostLine, cost_figure, parameter_bars

X = np.array([32, 64, 128])


def line(name: str, y: tuple[float, ...], hollow: bool = False) -> CostLine:
    return CostLine(name, "--m-gru", "solid", X, np.array(y), 2.0 * X, hollow)


def test_dots_are_measured_and_dotted_lines_are_formulas() -> None:
    figure = cost_figure([line("GRU", (1.0, 2.0, float("nan")))], "length", "seconds", (32, 64, 128))
    formula, measured = figure.data
    assert len(figure.data) == TRACES_PER_LINE
    assert measured.y == (1.0, 2.0, None) and formula.y == (64.0, 128.0, 256.0)
    assert formula.mode == "lines" and "1px" in formula.line.dash and measured.line.dash == "solid"
    low, high = figure.layout.yaxis.range
    assert 10**low < 1.0 and 10**high > 256


def test_labels_are_apart_at_the_line_ends() -> None:
    figure = cost_figure(
        [line("a", (1, 2, 300.0)), line("b", (1, 2, 301.0), hollow=True), line("c", (1, 1, 1.0))],
        "x",
        "y",
        (32, 64, 128),
    )
    heights = {text.text.split("</span> ")[-1]: text.y for text in figure.layout.annotations}
    assert abs(heights["a"] - heights["b"]) >= 0.0699 and heights["c"] < 0.2
    assert "○" in figure.layout.annotations[1].text
    assert figure.data[3].marker.line.width == 2


def test_a_line_without_a_number_has_no_label() -> None:
    figure = cost_figure([line("a", (float("nan"),) * 3)], "x", "y", (32, 64, 128))
    assert len(figure.layout.annotations) == 0


def test_many_sizes_are_thinned_and_include_the_last() -> None:
    sizes = tuple(2**i for i in range(5, 12))
    figure = cost_figure([line("a", (1, 2, 3.0))], "x", "y", sizes)
    assert figure.layout.xaxis.ticktext == ("32", "128", "512", "2,048")


def test_parameter_bars_have_the_length_and_text_of_their_counts() -> None:
    figure = parameter_bars([("expand", 4096, "= d m"), ("<b>", 12, "= d")], "--m-transformer")
    assert figure.data[0].x == (4096, 12)
    assert "4,096" in figure.layout.annotations[0].text and "= d m" in figure.layout.annotations[0].text
    assert "<b>&lt;b&gt;</b>" in figure.layout.annotations[1].text
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first part stands on top"
    assert figure.layout.xaxis.range[1] == pytest.approx(4096)
