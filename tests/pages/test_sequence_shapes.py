from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.pages import screen

UNFOLDED = {"unfold": "shapes-sum,shapes-clipping,shapes-place,shapes-heads"}


def test_every_question_has_an_answer_when_it_is_unfolded() -> None:
    at = screen.open_page("sequence_shapes.py", UNFOLDED)
    assert screen.warnings_of(at) == [] and screen.url_params(at) == UNFOLDED
    verdicts = " ".join(screen.headings(at))
    answers = [word for heading in screen.headings(at) if (word := heading.split(":")[0].rstrip("\\")) in ("No", "Yes")]
    assert "Before training, the last two steps" in verdicts
    assert sorted(answers) == ["No", "No", "Yes"], "what the included runs show; other runs may show otherwise"
    assert [panel["name"] for panel in screen.plot_frame_figures(at, "shapes-sum")] == ["shares", "sizes"]
    assert len(screen.plot_frame_figures(at, "shapes-place")) == 2
    assert "by at most" in screen.page_text(at)
    assert [heading for heading in screen.headings(at) if len(heading.replace("\u00a0%", "%").split()) > 20] == []


def test_folded_questions_compute_nothing() -> None:
    at = screen.open_page("sequence_shapes.py")
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {} and len(at.expander) == 5
    assert screen.component_data(at, "plot_frame") == [] and len(screen.component_data(at, "unrolled_rnn")) == 1


@pytest.mark.parametrize(
    ("parts", "steps", "title"),
    [
        ({"shape": "each", "senses": "the bank", "replica": "4"}, 2, "GRU, seed 4"),
        ({"shape": "each", "answers": "letters", "letters": "To be", "replica": "7"}, 5, "RNN, seed 2"),
        ({"shape": "other", "date": "3 may 1997"}, 21, "GRU encoder–decoder, seed 0"),
        ({"shape": "from-one"}, 20, "RNN, seed 0"),
    ],
)
def test_every_shape_opens_from_its_url(parts: Mapping[str, str], steps: int, title: str) -> None:
    at = screen.open_page("sequence_shapes.py", parts)
    net = screen.component_data(at, "unrolled_rnn")[0]
    assert screen.warnings_of(at) == [] and screen.url_params(at) == parts
    assert len(net["steps"]) == steps and net["title"] == title
