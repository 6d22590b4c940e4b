from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import wait

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.inspection import depth
from explorer.inspection.depth import Depths
from explorer.ui import slowly, warmup
from explorer.ui.depth_grid import powers
from tests.pages.screen import address, calm, drawn, frame, headings, page, said, settled, told

SIZE = np.broadcast_to(np.linspace(1, 4, depth.LAYERS + 1)[:, None] * [1, 2, 0.5], (10, depth.LAYERS + 1, 3))


@pytest.fixture(autouse=True)
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured is asked elsewhere: here it costs seconds."""
    slopes = np.ones((10, depth.LAYERS, depth.LAYERS + 1, 3))
    found = Depths(SIZE, SIZE / 10, slopes, slopes)
    monkeypatch.setattr(depth, "measure", lambda heads, start: found)
    monkeypatch.setattr(slowly, "_works", OrderedDict())


def screen(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("depth.py", address))


def caught_up(at: AppTest) -> AppTest:
    """Once nothing on it is of the last gesture."""
    wait(list(slowly._works.values()))
    return settled(calm(at.run()))


def stacks(at: AppTest) -> dict[str, object]:
    return drawn(at, "stacks")[0]


def heads(at: AppTest) -> dict[str, object]:
    return drawn(at, "cutheads")[0]


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = screen()
    assert told(at) == [] and address(at) == {}
    assert heads(at)["tokens"] == list("the night and the day")
    assert heads(at)["cuts"]["4"]["finding"].startswith("Four heads hardly differ before training")  # type: ignore[index]
    assert "16,384" in heads(at)["cuts"]["8"]["words"]  # type: ignore[index]
    assert len(stacks(at)["combinations"]) == len(stacks(at)["expected"]) == 10  # type: ignore[arg-type]
    assert stacks(at)["chosen"] == {"residual": True, "norm": "pre", "kind": "layer", "layers": 24}
    assert [panel["title"] for panel in frame(at, "depth-race")] == [
        "Loss on fresh rows, nats",
        "Rows reversed without a mistake",
    ]
    learned = next(heading for heading in headings(at) if "blocks learn" in heading)
    assert "in every seed with the norm before each part" in learned and "nor without residuals" in learned
    assert "measured 4. " in said(at).replace("\\", "") and "The papers" in headings(at)


def test_the_stacks_of_the_first_view_are_begun_before_anybody_asks() -> None:
    warmup.ahead()
    begun = list(slowly._works)
    wait(list(slowly._works.values()))
    screen()
    assert len(begun) == 1 and [key for key in slowly._works if key[0] == "depth-stacks"] == begun


def test_what_is_sent_of_the_stacks_can_be_read_as_powers_of_ten() -> None:
    found = powers(np.array([1.0, 1e-54, 0.0, np.nan]))
    assert found[:3].tolist() == [0.0, -54.0, -np.inf] and np.isnan(found[3])
    assert found.dtype == np.float32


def test_another_text_and_untrained_weights_stand_in_the_address() -> None:
    at = screen()
    at = caught_up(calm(at.text_input(key="depth.say").set_value("to be or not").run()))
    at = caught_up(calm(at.selectbox(key="depth.block").set_value(4).run()))
    assert address(at) == {"say": "to be or not", "block": "4"}
    assert heads(at)["tokens"] == list("to be or not")
    assert "block 4" in str(heads(at)["who"])
    at = caught_up(screen({"who": "untrained", "seed": "7"}))
    assert heads(at)["learned"] is None and "untrained" in str(heads(at)["who"])
    at = settled(calm(next(b for b in at.button if b.label == "Back to the defaults").click().run()))
    assert address(at) == {}


def test_bad_parts_of_an_address_are_named_and_the_rest_is_shown() -> None:
    at = screen({"layers": "99", "norm": "batch", "say": "x" * 999, "cut": "3", "residual": "false"})
    assert len(told(at)) == 4 and any("999 characters is too long here" in sentence for sentence in told(at))
    assert stacks(at)["chosen"]["residual"] is False  # type: ignore[index]
    assert address(at) == {"residual": "false"}


def test_of_a_long_text_the_beginning_is_read_and_nothing_of_it_is_lost() -> None:
    at = screen()
    at = caught_up(calm(at.text_input(key="depth.say").set_value("to be or not to be, that is the question").run()))
    assert heads(at)["tokens"] == list("to be or not to be, that")
    (sentence,) = told(at)
    assert "has 40 characters; the tiles have room for 24" in sentence
    assert address(at)["say"] == at.text_input(key="depth.say").value == "to be or not to be, that is the question"


def test_a_text_that_the_model_cannot_read_is_answered_by_a_sentence() -> None:
    at = screen({"say": "日本"})
    assert any("knows nothing" in sentence for sentence in told(at))
    assert drawn(at, "cutheads") == [] and len(drawn(at, "stacks")) == 1
    at = screen({"say": "to 日 be"})
    assert heads(at)["tokens"] == list("to  be")
    assert re.search("never saw “日”", said(at).replace("\\", ""))


def test_a_start_at_zero_says_what_it_is() -> None:
    at = screen({"start": "zero", "layers": "1"})
    words = said(at).replace("\\", "")
    assert "a part first adds nothing" in words
    assert "s² = 0 and l = 1" in words and "after 1 block is expected between 1 and 1" in words


def test_other_seeds_are_trainings_that_can_be_asked_for() -> None:
    at = screen({"first": "7"})
    assert told(at) == [] and address(at) == {"first": "7"}
    assert not any("blocks learn" in heading for heading in headings(at)), "nothing is said of what did not happen"
    assert "No finished run of the stack with the norm before each part" in said(at)
    assert any(button.label == "Run it here" for button in at.button)
