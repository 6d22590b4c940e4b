"""The views of the attention page, called with made results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from explorer.inspection.attention.head_scores import HeadImportance
from explorer.inspection.attention.patching import Patching
from explorer.labs.attention.head_importance import MAX_HEADS, importance_view
from explorer.labs.attention.patching import patched_view, share_map
from explorer.labs.attention.state import AttentionState
from explorer.ui.document import Document
from tests.charts.figures import figure_of


def figures_of(document: Document) -> list[Any]:
    (data,) = [block["data"] for block in document.blocks if block["kind"] == "component"]
    return data["figures"]  # type: ignore[index, no-any-return]


def make_importance(layers: int, heads: int) -> HeadImportance:
    rise = np.linspace(-0.02, 0.05, layers * heads).reshape(layers, heads)
    return HeadImportance("loss, nats a token", 1.5, 1.5 + rise, np.full_like(rise, 0.01), 9, available=9)


def test_the_most_important_head_is_on_top_with_two_standard_errors_inside_the_axis() -> None:
    document = Document()
    importance_view(document, make_importance(2, 2), "--m-transformer")
    (figure,) = figures_of(document)
    layout, traces = figure["plot"]["layout"], figure["plot"]["data"]
    assert layout["yaxis"]["ticktext"][0] == "layer 2, head 2" and traces[0]["x"] == [0.05]
    assert traces[0]["error_x"]["array"] == [0.02]
    low, high = layout["xaxis"]["range"]
    assert low < -0.04 and high > 0.07 and layout["shapes"][0]["x0"] == 0


def test_of_many_heads_those_that_matter_most_are_shown() -> None:
    document = Document()
    importance_view(document, make_importance(8, 8), "--m-transformer")
    (figure,) = figures_of(document)
    assert len(figure["plot"]["data"]) == MAX_HEADS
    assert f"Shown are the {MAX_HEADS} heads of 64" in figure["caption"]


def test_a_small_map_of_shares_has_numbers_and_a_frame_and_a_large_one_few_labels() -> None:
    shares = np.array([[1.0, 0.01], [-0.3, math.nan], [1.4, 0.5]])
    figure = figure_of(
        share_map("Stream", ["embedding", "layer 1", "layer 2"], ["king / queen", "<of>"], shares, (2, 1))
    )
    [cells] = figure.data
    assert [list(row) for row in cells.text[:2]] == [["1.00", ""], ["-0.30", ""]] and cells.zmin == -1
    assert figure.layout.xaxis.ticktext[1] == "&lt;of&gt;" and figure.layout.shapes[0].y0 == 1.5
    figure = figure_of(share_map("Heads", [f"layer {i + 1}" for i in range(30)], ["a"] * 9, np.ones((30, 9))))
    [cells] = figure.data
    assert not any(map(any, cells.text)) and not figure.layout.shapes and not cells.showscale
    assert 5 < len([name for name in figure.layout.yaxis.ticktext if name]) <= 12


def test_the_answers_to_both_texts_are_drawn_beside_the_patched_one() -> None:
    changed, patched, clean = (np.log(np.array(each, np.float32)) for each in ((0.1, 0.9), (0.6, 0.4), (0.8, 0.2)))
    maps = np.zeros((1, 1, 2), np.float32)
    found = Patching(1, (0, 1), clean, changed, (1,), maps, maps, np.zeros((1, 3, 2), np.float32))
    document = Document()
    patched_view(document, found, patched, ["<s>", "b"], "--m-transformer")
    assert "from 0.10 to 0.60" in str(document.blocks[0]["text"])
    (figure,) = figures_of(document)
    assert [bar["x"] for bar in figure["plot"]["data"]] == [[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]]
    assert [bar["name"] for bar in figure["plot"]["data"]][1] == "with the state from the first text"


def test_what_is_computed_depends_on_the_text_the_seed_and_the_ablation_only() -> None:
    state = AttentionState(say="a", seed=1, step=3, layer=2, off=("0.1",), view="matrix", answer="x")
    assert state.computation_settings() == AttentionState(say="a", seed=1, step=3, off=("0.1",))
    assert state.computation_settings("layer", ablated=False) == AttentionState(say="a", seed=1, step=3, layer=2)
