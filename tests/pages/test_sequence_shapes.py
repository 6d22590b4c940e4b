from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.labs.sequence_shapes.state import SequenceShapesState
from tests.pages.screen import (
    component_data,
    headings,
    page,
    page_text,
    plot_frame_figures,
    url_params,
    wait_until_ready,
    warnings_of,
)


def open_page(address: Mapping[str, str] | None = None) -> AppTest:
    return wait_until_ready(page("sequence_shapes.py", address))


UNFOLDED = {"unfold": "shapes-sum,shapes-clipping,shapes-place,shapes-heads"}


def test_every_question_has_an_answer_when_it_is_unfolded() -> None:
    at = open_page(UNFOLDED)
    assert warnings_of(at) == [] and url_params(at) == UNFOLDED
    verdicts = " ".join(headings(at))
    answers = [word for heading in headings(at) if (word := heading.split(":")[0].rstrip("\\")) in ("No", "Yes")]
    assert "Before training, the last two steps" in verdicts
    assert sorted(answers) == ["No", "No", "Yes"], "what the included runs show; other runs may show otherwise"
    assert [panel["name"] for panel in plot_frame_figures(at, "shapes-sum")] == ["shares", "sizes"]
    assert len(plot_frame_figures(at, "shapes-place")) == 2
    assert "by at most" in page_text(at)
    assert [heading for heading in headings(at) if len(heading.replace("\u00a0%", "%").split()) > 20] == []


def test_folded_questions_compute_nothing() -> None:
    at = open_page()
    assert warnings_of(at) == [] and url_params(at) == {} and len(at.expander) == 5
    assert component_data(at, "plot_frame") == [] and len(component_data(at, "unrolled_rnn")) == 1


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"agreeing": "noun"}, "agreeing = noun is not possible. Give one of verb, pronoun."),
        ({"who": "me"}, "This page has no “who”; that part of the address was left out."),
    ],
)
def test_invalid_url_parameters_are_reported(part: dict[str, str], sentence: str) -> None:
    at = open_page(part)
    assert any(sentence in each.replace("\\", "") for each in warnings_of(at)) and url_params(at) == {}
    assert SequenceShapesState().agreeing == "verb"
