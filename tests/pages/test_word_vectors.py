from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from explorer.labs.word_vectors.state import WordVectorsState
from tests.pages import screen
from tests.words import assert_mentions


def open_page(**address: str) -> AppTest:
    return screen.wait_until_ready(screen.page("word_vectors.py", address))


def test_the_page_answers_without_interaction() -> None:
    at = open_page()
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {}
    found = screen.headings(at)
    assert any(heading.startswith("Nearest to “romeo”: ") and "juliet" in heading for heading in found)
    assert len(screen.plot_frame_figures(at, "words-map-figure")) == 1 and "No finished run" not in screen.page_text(at)
    assert not at.latex, "what is folded is not drawn"
    at = open_page(corpus="grammar", unfold="training,frequency,failures")
    assert "king is to queen as father is to mother (8 of 8 seeds)." in screen.headings(at)
    assert any("in 48 of 48 cases" in heading for heading in screen.headings(at))
    assert any(heading.startswith("Two seeds share") for heading in screen.headings(at)) and at.latex
    assert len(screen.plot_frame_figures(at, "words-training")) == 3


def test_an_address_without_a_text_means_the_grammar_as_before_and_a_reset_keeps_the_text() -> None:
    at = open_page(word="king")
    assert screen.url_params(at) == {"word": "king"} and any("king is to queen" in each for each in screen.headings(at))
    state = WordVectorsState.url_base()
    assert replace(state, width=9).reset() == state != WordVectorsState()


def test_other_settings_are_offered_for_training_and_the_earlier_results_stay() -> None:
    at = open_page(seeds="2", steps="100")
    assert_mentions(screen.page_text(at), "No finished run of skip-gram")
    assert_mentions(screen.page_text(at), "Results of the earlier settings (8 seeds, 1,000 steps)")
    assert any(heading.startswith("Nearest to “queen”") for heading in screen.headings(at))


def test_words_without_a_vector_are_named_with_known_ones() -> None:
    at = open_page(word="kings", show="king qeen nun monk")
    assert "“kings” has no vector" in " ".join(screen.warnings_of(at)) and "“qeen” has no vector" in " ".join(
        screen.warnings_of(at)
    )
    at = screen.wait_until_ready(
        screen.assert_no_errors(screen.widget(at.text_input, "words.word").set_value("Paris").run())
    )
    assert screen.url_params(at)["word"] == "Paris" and any(
        "Nearest to “paris”" in heading for heading in screen.headings(at)
    )


@pytest.mark.parametrize("corpus", ["tinyshakespeare", "own"])
def test_another_text(corpus: str) -> None:
    at = open_page(corpus=corpus)
    assert screen.warnings_of(at) == []
    word = "queen" if corpus == "own" else "romeo"  # the grammar, until there is a text
    assert any(f"Nearest to “{word}”" in heading for heading in screen.headings(at))
