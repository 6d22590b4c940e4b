from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.screen import (
    assert_no_errors,
    headings,
    page,
    page_text,
    plot_frame_figures,
    url_params,
    wait_until_ready,
    warnings_of,
    widget,
)


def open_page(**address: str) -> AppTest:
    return wait_until_ready(page("word_vectors.py", address))


def test_the_page_answers_without_interaction() -> None:
    at = open_page()
    assert warnings_of(at) == [] and url_params(at) == {}
    found = headings(at)
    assert any(heading.startswith("Nearest to “queen”") for heading in found)
    assert "king is to queen as father is to mother (8 of 8 seeds)." in found
    assert len(plot_frame_figures(at, "words-map-figure")) == 1 and "No finished run" not in page_text(at)
    assert not at.latex, "what is folded is not drawn"
    at = open_page(unfold="training,frequency,failures")
    assert any("in 48 of 48 cases" in heading for heading in headings(at))
    assert any(heading.startswith("Two seeds share") for heading in headings(at)) and at.latex
    assert len(plot_frame_figures(at, "words-training")) == 3


def test_words_without_a_vector_are_named_with_known_ones() -> None:
    at = open_page(word="kings", show="king qeen nun monk")
    assert "“kings” has no vector" in " ".join(warnings_of(at)) and "“qeen” has no vector" in " ".join(warnings_of(at))
    at = wait_until_ready(assert_no_errors(widget(at.text_input, "words.word").set_value("Paris").run()))
    assert url_params(at)["word"] == "Paris" and any("Nearest to “paris”" in heading for heading in headings(at))


@pytest.mark.parametrize("corpus", ["tinyshakespeare", "own"])
def test_another_text(corpus: str) -> None:
    at = open_page(corpus=corpus)
    assert warnings_of(at) == []
    word = "queen" if corpus == "own" else "romeo"  # the grammar, until there is a text
    assert any(f"Nearest to “{word}”" in heading for heading in headings(at))
