"""The page on context: stored measurements of included runs, and what is folded."""

from __future__ import annotations

import json

import pytest

from explorer.experiments.text_setups import SETUPS
from explorer.labs.context.context_use import FILE, stored_context_use
from explorer.labs.context.state import TEXTS
from explorer.training.config import key
from tests.pages.screen import headings, open_page, page_text, plot_frame_figures, url_params, warnings_of

pytestmark = pytest.mark.usefixtures("no_loaded_text")


def test_the_measurements_of_every_choice_are_stored() -> None:
    keys = {key(SETUPS[setup].config(model)) for setup in TEXTS for model in SETUPS["toy"].own}
    assert keys == set(json.loads(FILE.read_text()))
    assert stored_context_use("none") is None


@pytest.mark.parametrize("setup", ["repeats", "brackets"])
def test_the_page_shows_the_loss_by_context(setup: str) -> None:
    at = open_page("context.py", {"setup": setup, "models": "ngram,gru"})
    assert not at.exception and not warnings_of(at)
    (figure,) = plot_frame_figures(at, "text-reach")
    found = stored_context_use(key(SETUPS[setup].config("gru")))
    assert found
    line = next(trace for trace in figure["plot"]["data"] if trace["x"] and len(trace["x"]) == len(found.contexts))
    assert line["x"] == found.contexts.tolist()
    assert any("GRU" in heading and "tokens before the target" in heading for heading in headings(at))
    assert url_params(at) == {"setup": setup, "models": "ngram,gru"}


def test_without_tiny_shakespeare_or_with_an_unknown_model_the_page_says_so() -> None:
    at = open_page("context.py", {"models": "nobody"})
    assert not at.exception and len(warnings_of(at)) == 1
    assert "Tiny Shakespeare is not on this machine" in page_text(at)
