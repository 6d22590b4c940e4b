from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.runs.growth import TRACES_PER_LINE, GrowthLine, growth_figure


def line(name: str, mean: list[float]) -> GrowthLine:
    middle = np.array(mean)
    return GrowthLine(name, "--m-gru", "solid", 10.0 ** (3 + np.arange(len(mean))), middle, middle - 0.1, middle + 0.1)


def test_a_line_has_a_band_and_its_name_at_its_end() -> None:
    made = growth_figure(
        [line("GRU", [2.5, 2.0]), line("RNN", [2.5])], "parameters", (900.0, 11e3), [1e3, 3e3], (1.5, 3.0)
    )
    plot = made.to_plotly_json()
    low, high, mean = plot["data"][:TRACES_PER_LINE]
    assert len(plot["data"]) == 2 * TRACES_PER_LINE
    assert (low["y"], high["y"], mean["y"]) == ([2.4, 1.9], [2.6, 2.1], [2.5, 2.0])
    assert high["fill"] == "tonexty" and mean["x"] == [1e3, 1e4]
    assert [each["text"].split("</span> ")[1] for each in plot["layout"]["annotations"]] == ["GRU", "RNN"]


def test_both_axes_are_logarithmic_with_readable_ticks() -> None:
    layout = growth_figure([line("GRU", [2.5, 2.0])], "parameters", (900.0, 2e6), [1e3, 15.7e3, 1e6], (1.4, 3.5)).layout
    assert layout.xaxis.type == layout.yaxis.type == "log"
    assert list(layout.xaxis.ticktext) == ["1k", "15.7k", "1M"]
    assert list(layout.yaxis.ticktext) == ["1.5", "2", "2.5", "3", "3.5"]
    assert layout.xaxis.range == pytest.approx((np.log10(900), np.log10(2e6)))
