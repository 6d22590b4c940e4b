from __future__ import annotations

import re

import numpy as np
import pytest

from explorer.inspection.transformer import depth
from explorer.inspection.transformer.depth import StackMeasurements
from explorer.web import background
from tests.pages import screen
from tests.words import assert_mentions

SIZE = np.broadcast_to(np.linspace(1, 4, depth.LAYERS + 1)[:, None] * [1, 2, 0.5], (10, depth.LAYERS + 1, 3))
SLOPES = np.ones((10, depth.LAYERS, depth.LAYERS + 1, 3))
STACKS = StackMeasurements(SIZE, SIZE / 10, SLOPES, SLOPES)


@pytest.fixture(autouse=True)
def synthetic_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the measurements, which take seconds, by synthetic values; drop all cached results."""
    monkeypatch.setattr(depth, "measure_stacks", lambda heads, start: STACKS)
    background.reset()


def test_page_shows_results_without_interaction() -> None:
    at = screen.open_page("depth.py", {"unfold": "training,why"})
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {"unfold": "training,why"}
    (heads,), (stacks,) = screen.component_data(at, "multi_head"), screen.component_data(at, "residual_stacks")
    assert heads["tokens"] == list("the night and the day")
    assert heads["cuts"]["4"]["finding"].startswith("The attention of four heads")
    assert "16,384" in heads["cuts"]["8"]["words"]
    assert len(stacks["combinations"]) == len(stacks["expected"]) == 10
    assert stacks["chosen"] == {"residual": True, "norm": "pre", "kind": "layer", "layers": 24}
    titles = [panel["title"] for panel in screen.plot_frame_figures(at, "depth-race")]
    assert titles == ["Loss on new rows, nats", "Share of rows reversed correctly"]
    learned = next(heading for heading in screen.headings(at) if heading.startswith("Stacks of"))
    assert learned.startswith("Stacks of 24 blocks that learn with every seed: with the norm before each part, ")
    assert "without residuals" not in learned
    assert "measured is 4. " in screen.page_text(at).replace("\\", "") and "Code and papers" in screen.headings(at)


def test_an_unreadable_text_is_reported() -> None:
    at = screen.open_page("depth.py", {"say": "日本"})
    assert any("knows nothing" in sentence for sentence in screen.warnings_of(at))
    assert screen.component_data(at, "multi_head")[0]["tokens"] == list("the night and the day")
    at = screen.open_page("depth.py", {"say": "to 日 be"})
    assert screen.component_data(at, "multi_head")[0]["tokens"] == list("to  be")
    assert re.search("never saw “日”", screen.page_text(at).replace("\\", ""))


def test_other_seeds_are_offered_for_training() -> None:
    at = screen.open_page("depth.py", {"first": "7", "unfold": "training"})
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {"first": "7", "unfold": "training"}
    assert any(heading.startswith("Stacks of") for heading in screen.headings(at))
    assert_mentions(screen.page_text(at), "Results of the earlier settings")
    assert_mentions(screen.page_text(at), "No finished run … norm before each")
    assert any(button.label.partition(",")[0] == "Train" for button in at.button)
