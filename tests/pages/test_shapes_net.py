from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.screen import address, drawn, headings, page, settled, told


def shapes(parts: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("shapes.py", parts))


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = shapes()
    assert told(at) == [] and address(at) == {}
    assert headings(at)[0] == "The same net, four shapes"
    net = drawn(at, "unrolled")[0]
    assert net["title"] == "RNN, seed 0" and [step["used"] for step in net["steps"]] == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("parts", "steps", "title"),
    [
        ({"shape": "each", "senses": "the bank", "replica": "4"}, 2, "GRU, seed 4"),
        ({"shape": "each", "answers": "letters", "letters": "To be", "replica": "7"}, 5, "RNN, seed 2"),
        ({"shape": "other", "date": "3 may 1997"}, 21, "GRU encoder–decoder, seed 0"),
        ({"shape": "from-one"}, 20, "RNN, seed 0"),
    ],
)
def test_every_shape_opens_from_its_address(parts: Mapping[str, str], steps: int, title: str) -> None:
    at = shapes(parts)
    net = drawn(at, "unrolled")[0]
    assert told(at) == [] and address(at) == parts
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
def test_bad_parts_are_said(bad: Mapping[str, str], words: str) -> None:
    assert sum(words in sentence for sentence in told(shapes(bad))) == 1
