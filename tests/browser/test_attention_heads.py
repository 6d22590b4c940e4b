"""The component of the attention heads, alone, with models larger than those that are trained here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy import ndarray
from playwright.sync_api import expect

from explorer.api import embedding
from explorer.inspection.attention.attend import pack_weights
from tests.browser.steps import NEXT_FRAMES

ODD = ("<|endoftext|>", " a" * 128, "\x00", "\u202eevil", " שלום", "日本語", "<b>x</b>", "\n", "\u200d", "", " capital")
# Count the canvases of heads that are painted from now on.
COUNT_PAINTED = """() => {
    window.painted = 0;
    const paint = CanvasRenderingContext2D.prototype.putImageData;
    CanvasRenderingContext2D.prototype.putImageData = function (...all) {
        window.painted += this.canvas.closest(".tile") !== null;
        return paint.apply(this, all);
    };
}"""
# The labels that are less than 10 px below the one before.
OVERLAPPING = """() => ["asks", "answers"].flatMap((side) => {
    const labels = [...document.querySelectorAll(`.${side} > :is(button, span) > span`)]
        .filter((label) => getComputedStyle(label).visibility === "visible");
    const middles = labels.map((label) => label.getBoundingClientRect()).map(({ top, height }) => top + height / 2);
    return labels.filter((_, i) => i > 0 && middles[i] - middles[i - 1] < 10).map((label) => label.textContent);
})"""


def random_weights(layers: int, heads: int, queries: int, keys: int, causal: bool) -> ndarray:
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.full(keys, 0.2), (layers, heads, queries)).astype(np.float32)
    previous = np.eye(queries, keys, -1, dtype=np.float32)
    previous[0, 0] = 1
    weights[17 % layers, min(4, heads - 1)] = previous  # a previous-token head
    return np.where(np.tri(queries, keys, dtype=bool), weights, np.nan) if causal else weights


def component(folder: Path, weights: ndarray, **changed: Any) -> str:
    """Write the component as a page and return its address; `window.events` gets its events."""
    layers, heads, queries, _ = weights.shape
    causal = bool(np.isnan(weights).any())
    data: dict[str, Any] = {
        "tokens": [f" t{i}" for i in range(queries)],
        "ids": list(range(queries)),
        "layers": layers,
        "heads": heads,
        "causal": causal,
        "masked": [],
        "address": embedding.arrays_address({"weights": pack_weights(weights, causal)}),
        "open": [0, 0],
        "asked": queries - 1,
        "scale": "one",
        "sort": "place",
        "view": "lines",
        "snapshots": None,
        "step": None,
        "touch": {"off": [], "flat": [], "unmasked": False, "unplaced": False},
        "can": {"mask": causal, "positions": True},
        "worth": None,
        "worth_error": None,
        "worth_of": "",
        "answers": None,
        "unit": "token",
        "colour": "--m-transformer",
        "title": "A model",
        "file": "attention",
    }
    page = embedding.page("attention_heads", data | changed, "Heads")
    page = page.replace("const ignore = () => {};", "const ignore = (...event) => (window.events ??= []).push(event);")
    page = page.replace('live ? "" : " lineage-saved"', '""')  # a saved page offers no intervention
    (folder / "heads.html").write_text(page, encoding="utf-8")
    return f"file://{folder}/heads.html"


@pytest.mark.parametrize(
    ("layers", "heads", "width", "height"), [(30, 9, 1296, 560), (30, 9, 374, 900), (6, 12, 1296, 560)]
)
def test_all_heads_of_a_large_model_are_seen_at_once(
    offline: Any, tmp_path: Path, layers: int, heads: int, width: int, height: int
) -> None:
    offline.set_viewport_size({"width": width, "height": 900})
    offline.goto(component(tmp_path, random_weights(layers, heads, 64, 64, causal=True)))
    tiles = offline.locator(".tile")
    expect(tiles).to_have_count(layers * heads)
    grid = offline.locator(".grid").bounding_box()
    assert grid and grid["height"] <= height and grid["x"] + grid["width"] <= width
    boxes = [tile.bounding_box() for tile in tiles.all()]
    assert min(box["width"] for box in boxes) >= 22
    places = {(round(box["x"]), round(box["y"])) for box in boxes}
    assert len(places) == layers * heads
    assert all(grid["x"] <= box["x"] and box["x"] + box["width"] <= width for box in boxes)
    numbers = offline.locator(".large .layer").all_inner_texts()
    assert numbers == [str(layer + 1) for layer in range(layers)]
    assert offline.evaluate("() => document.documentElement.scrollWidth") <= width


def test_heads_are_reached_by_arrow_keys_and_only_the_asked_ones_are_drawn_again(offline: Any, tmp_path: Path) -> None:
    offline.set_viewport_size({"width": 1296, "height": 900})
    offline.goto(component(tmp_path, random_weights(30, 9, 64, 64, causal=True)))
    tiles, words = offline.locator(".tile"), offline.locator(".words")
    expect(tiles).to_have_count(270)
    offline.evaluate(COUNT_PAINTED)
    tiles.first.focus()
    for key, name in (("ArrowRight", "Layer 1, head 2"), ("ArrowDown", "Layer 2, head 2"), ("End", "Layer 30, head 9")):
        offline.keyboard.press(key)
        expect(words).to_contain_text(f"{name}. It ")
    offline.keyboard.press("Enter")
    expect(offline.get_by_role("heading", name="Layer 30, head 9")).to_be_visible()
    assert offline.evaluate("() => events") == [["open", [29, 8]]]
    offline.locator(".asks button").nth(9).hover()
    expect(offline.locator(".reading")).to_contain_text("“␣t9” attends to ")
    tiles.nth(100).hover()
    expect(words).to_contain_text("Layer 12, head 2. It ")
    assert offline.evaluate("() => painted") == 0, "neither a hovered token nor a hovered head paints the grid"
    offline.get_by_text("Highlight and colours").click()
    offline.get_by_role("button", name="by row").click()
    offline.wait_for_function("() => painted === 270")


def test_heads_with_a_high_score_are_highlighted_in_their_layers(offline: Any, tmp_path: Path) -> None:
    offline.set_viewport_size({"width": 1296, "height": 900})
    offline.goto(component(tmp_path, random_weights(30, 9, 24, 24, causal=True)))
    expect(offline.locator(".ranking")).to_be_hidden()
    offline.get_by_text("Highlight and colours").click()
    offline.get_by_label("Score by which heads are highlighted").select_option("previous")
    expect(offline.locator(".ranking output")).to_have_text(re.compile(r"^1\d of 270 heads with 0\.\d\d or more$"))
    best = offline.get_by_role("button", name="Layer 18, head 5: 1.00")
    expect(best).to_be_visible()
    slider = offline.get_by_label("Smallest highlighted score")
    slider.press("End")
    expect(offline.locator(".ranking output")).to_have_text("1 of 270 heads with 1.00 or more")
    expect(offline.locator(".box:not(.faint)")).to_have_count(1)
    best.click()
    expect(offline.get_by_role("heading", name="Layer 18, head 5")).to_be_visible()
    expect(best).to_have_attribute("aria-pressed", "true")
    assert offline.evaluate("() => events") == [["sort", "previous"], ["open", [17, 4]]]
    offline.get_by_label("Score by which heads are highlighted").select_option("place")
    expect(offline.locator(".box.faint")).to_have_count(0)


def test_cross_attention_is_a_rectangle_of_target_and_source_tokens(offline: Any, tmp_path: Path) -> None:
    weights = random_weights(2, 4, 3, 5, causal=False)
    keys, kinds = [f" s{i}" for i in range(5)], {"decoder": "Decoder", "cross": "Cross-attention"}
    more = {"keys": keys, "masked": [4], "kinds": kinds, "kind": "cross", "unit": "word"}
    offline.goto(component(tmp_path, weights, **more))
    expect(offline.locator(".asks button")).to_have_count(3)
    expect(offline.locator(".answers > span")).to_have_count(5)
    expect(offline.locator(".answers > span.never")).to_have_text("␣s4")
    expect(offline.locator(".second .under")).to_contain_text("left: target token (query), right: source token")
    best = int(weights[0, 0, 1, :4].argmax())
    offline.locator(".asks button").nth(1).hover()
    expect(offline.locator(".reading")).to_contain_text(f"“␣t1” attends to “␣s{best}”")
    expect(offline.get_by_role("heading", name="What the model predicts")).to_be_hidden()  # it has no answers
    choice = offline.get_by_role("group", name="Kind of attention")
    expect(choice.get_by_role("button", name="Cross-attention")).to_have_attribute("aria-pressed", "true")
    choice.get_by_role("button", name="Decoder").click()
    assert offline.evaluate("() => events.at(-1)") == ["kind", "decoder"]


def test_odd_tokens_are_text_and_a_long_one_is_whole_in_its_tooltip(offline: Any, tmp_path: Path) -> None:
    answers = {"where": "", "rows": [{"text": ODD[1], "now": 0.5, "before": 0.5}], "changed": False}
    weights = random_weights(12, 12, len(ODD), len(ODD), causal=True)
    offline.goto(component(tmp_path, weights, tokens=list(ODD), answers=answers))
    escapes = ("\\u0000", "\\u202eevil", "␣שלום", "日本語", "<b>x</b>", "↵", "\\u200d", "∅", "␣capital")
    labels = ["<|endoftext|>", "␣a" * 128, *escapes]
    tokens = offline.locator(".asks button span")
    expect(tokens).to_have_text(labels)
    assert all(box["width"] < 300 for box in (token.bounding_box() for token in tokens.all()))
    tokens.nth(1).hover()
    expect(offline.locator(".stage")).to_have_attribute("title", labels[1])
    expect(offline.locator(".reading")).to_contain_text("“␣a␣a␣a␣a␣a␣a␣a␣…” attends to")
    tokens.nth(10).hover()
    expect(offline.locator(".stage")).to_have_attribute("title", "")
    expect(offline.locator(".answer-text")).to_have_attribute("title", labels[1])


@pytest.mark.parametrize(("count", "view"), [(64, "lines"), (128, "matrix")])
def test_labels_of_a_long_text_do_not_overlap(offline: Any, tmp_path: Path, count: int, view: str) -> None:
    offline.set_viewport_size({"width": 1296, "height": 900})
    offline.goto(component(tmp_path, random_weights(12, 12, count, count, causal=False), view=view))
    expect(offline.locator(".asks button")).to_have_count(count)
    assert offline.evaluate(OVERLAPPING) == []
    offline.locator(".stage").hover(position={"x": 300, "y": 200})
    offline.evaluate(NEXT_FRAMES)
    assert offline.evaluate(OVERLAPPING) == []
