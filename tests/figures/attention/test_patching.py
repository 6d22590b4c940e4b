from __future__ import annotations

import numpy as np

from explorer.figures.attention.patching import patched_answers, share_map


def test_a_map_of_shares_has_diverging_colours_and_a_frame() -> None:
    shares = np.array([[1.0, 0.01], [-0.3, np.nan], [1.4, 0.5]])
    figure = share_map(["embedding", "layer 1", "layer 2"], ["king / queen", "<of>"], shares, (2, 1), legend=True)
    [cells] = figure.data
    assert (cells.zmin, cells.zmax, cells.autocolorscale) == (-1, 1, True), "plotly takes the diverging scale then"
    assert [list(row) for row in cells.z] == [[1.0, 0.01], [-0.3, None], [1.4, 0.5]]
    assert [list(row) for row in cells.text] == [["1.00", ""], ["-0.30", ""], ["1.40", "0.50"]]
    assert tuple(cells.hovertext[0]) == ("embedding, king / queen: 1.00", "embedding, &lt;of&gt;: 0.01")
    assert list(figure.layout.xaxis.ticktext) == ["king / queen", "&lt;of&gt;"]
    [frame] = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, 1.5, 2.5)
    assert {"0 changed", "1 first"} <= set(cells.colorbar.ticktext)


def test_a_large_map_has_few_labels_and_no_numbers() -> None:
    figure = share_map([f"layer {i + 1}" for i in range(30)], ["a"] * 9, np.ones((30, 9)))
    [cells] = figure.data
    assert cells.texttemplate is None and not figure.layout.shapes and not cells.showscale
    assert 5 < len([name for name in figure.layout.yaxis.ticktext if name]) <= 12


def test_answers_have_a_bar_for_each_text_and_for_the_patched_state() -> None:
    figure = patched_answers(["<s>", "b"], *np.array([[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]]), "--m-transformer")
    assert [list(bars.x) for bars in figure.data] == [[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]]
    assert [bars.name for bars in figure.data][::2] == ["changed text", "first text"]
    assert list(figure.layout.yaxis.ticktext) == ["&lt;s&gt;", "b"]
