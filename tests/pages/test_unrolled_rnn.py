from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.screen import component_data, page, url_params, wait_until_ready, warnings_of


def open_page(parts: Mapping[str, str] | None = None) -> AppTest:
    return wait_until_ready(page("sequence_shapes.py", parts))


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
    at = open_page(parts)
    net = component_data(at, "unrolled_rnn")[0]
    assert warnings_of(at) == [] and url_params(at) == parts
    assert len(net["steps"]) == steps and net["title"] == title


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"shape": "two"}, "one of one, each"),
        ({"replica": "99"}, "from 0 to 7"),
        ({"ends": "human eats nature"}, "never saw “eats”"),
        ({"net": "x"}, "This page has no “net”"),
    ],
)
def test_invalid_url_parameters_are_reported(bad: Mapping[str, str], words: str) -> None:
    assert sum(words in sentence for sentence in warnings_of(open_page(bad))) == 1
