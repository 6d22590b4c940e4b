from __future__ import annotations

from statistics import median

import pytest

from explorer.run_store import store
from explorer.tasks.sequence_labelling.config import PAD
from tests.pages import screen
from tests.words import assert_mentions


@pytest.mark.parametrize("reads", ["tale", "noise"])
def test_page_shows_results_without_interaction(reads: str) -> None:
    at = screen.open_page("masks.py", {"unfold": "training"} | ({} if reads == "tale" else {"reads": reads}))
    assert screen.warnings_of(at) == [] and screen.url_params(at).get("reads", "tale") == reads
    data = screen.component_data(at, "masks")[0]
    assert data["batch"][1] == ["dogs", "bark"] and PAD in data["vectors"] and len(data["layers"]) == 2
    values = store.find(f"{reads}-open").card.metrics["loss"].values
    loss = f"{median(value or 0.0 for value in values):.2f}"
    assert_mentions(screen.page_text(at), f"Without the mask the loss is {loss}")
    if reads == "tale":
        assert_mentions(screen.page_text(at), "Letters in words of the language: without the mask 3")
    titles = [panel["title"] for panel in screen.plot_frame_figures(at, "masks-race")]
    assert titles == ["Whole row at once, as in training", "Letter by letter, as in generation"]
    assert len(screen.plot_frame_figures(at, "masks-places")) == 2 and len(screen.blocks(at, "code")) == 2
    assert "No finished run" not in screen.page_text(at) and (len(at.text_input) == 4) == (reads == "tale")


def test_sentences_are_in_the_url_and_can_be_reset() -> None:
    at = screen.open_page("masks.py")
    at = screen.wait_until_ready(
        screen.assert_no_errors(screen.widget(at.text_input, "masks.second").set_value("<b>cats</b>, dogs").run())
    )
    assert screen.url_params(at) == {"second": "<b>cats</b>, dogs"}
    assert screen.component_data(at, "masks")[0]["batch"][1] == ["<b>cats</b>,", "dogs"]
    at = screen.wait_until_ready(screen.assert_no_errors(at.button(key="masks.fresh").click().run()))
    assert screen.url_params(at) == {}


def test_untrained_settings_are_offered_for_training() -> None:
    at = screen.open_page("masks.py", {"reads": "noise", "seeds": "2"})
    assert screen.warnings_of(at) == []
    assert_mentions(screen.page_text(at), "No finished run … with the mask … without the mask")
    assert_mentions(screen.page_text(at), "Results of the earlier settings")


def test_unreadable_texts_are_reported(snapshot: object) -> None:
    long = "one two three four five six seven eight nine ten eleven"
    texts = ({"begin": "é", "first": long}, {"first": " ", "second": " ", "third": " "})
    assert [screen.warnings_of(screen.open_page("masks.py", each)) for each in texts] == snapshot
