from __future__ import annotations

import re

import numpy as np
import pytest

from explorer.inspection.transformer import depth
from explorer.inspection.transformer.depth import StackMeasurements, log10_values
from explorer.web import background
from tests.pages.screen import (
    component_data,
    headings,
    open_page,
    page_text,
    plot_frame_figures,
    url_params,
    warnings_of,
)
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
    at = open_page("depth.py", {"unfold": "training,why"})
    assert warnings_of(at) == [] and url_params(at) == {"unfold": "training,why"}
    (heads,), (stacks,) = component_data(at, "multi_head"), component_data(at, "residual_stacks")
    assert heads["tokens"] == list("the night and the day")
    assert heads["cuts"]["4"]["finding"].startswith("The attention of four heads")
    assert "16,384" in heads["cuts"]["8"]["words"]
    assert len(stacks["combinations"]) == len(stacks["expected"]) == 10
    assert stacks["chosen"] == {"residual": True, "norm": "pre", "kind": "layer", "layers": 24}
    titles = [panel["title"] for panel in plot_frame_figures(at, "depth-race")]
    assert titles == ["Loss on new rows, nats", "Share of rows reversed correctly"]
    learned = next(heading for heading in headings(at) if heading.startswith("Stacks of"))
    assert learned.startswith("Stacks of 24 blocks learn with every seed") and "without residuals" in learned
    assert "measured is 4. " in page_text(at).replace("\\", "") and "Code and papers" in headings(at)


def test_log10_values_keep_the_range_of_double_precision() -> None:
    found = log10_values(np.array([1.0, 1e-54, 0.0, np.nan]))
    assert found[:3].tolist() == [0.0, -54.0, -np.inf] and np.isnan(found[3])
    assert found.dtype == np.float32


def test_an_unreadable_text_is_reported() -> None:
    at = open_page("depth.py", {"say": "日本"})
    assert any("knows nothing" in sentence for sentence in warnings_of(at))
    assert component_data(at, "multi_head") == [] and len(component_data(at, "residual_stacks")) == 1
    at = open_page("depth.py", {"say": "to 日 be"})
    assert component_data(at, "multi_head")[0]["tokens"] == list("to  be")
    assert re.search("never saw “日”", page_text(at).replace("\\", ""))


def test_other_seeds_are_offered_for_training() -> None:
    at = open_page("depth.py", {"first": "7", "unfold": "training"})
    assert warnings_of(at) == [] and url_params(at) == {"first": "7", "unfold": "training"}
    assert not any(heading.startswith("Stacks of") for heading in headings(at)), "there is no finding without a run"
    assert_mentions(page_text(at), "No finished run … norm before each")
    assert any(button.label == "Train" for button in at.button)
