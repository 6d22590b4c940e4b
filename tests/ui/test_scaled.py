from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from explorer.ui import address
from explorer.ui.learning import Learning
from explorer.ui.scaled import Scaled, taken
from explorer.ui.scaled_findings import at_width, training_verdict, width_finding

EDITED = Scaled(words="a b", width=2, q=(1.0, -0.25, 3.0, 0.0), mask="padding", padding=(0, 1), at="out.1.0", draw=7)


def test_the_address_holds_the_tables() -> None:
    assert address.write(Scaled()) == {}
    written = address.write(EDITED)
    assert written["q"] == "1.0,-0.25,3.0,0.0" and written["at"] == "out.1.0"
    assert address.read(Scaled, written) == (EDITED, ())
    full = Scaled(q=(-99.999,) * 36, k=(0.1234,) * 36)
    assert address.read(Scaled, address.write(full)) == (full, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q", "1,nan"),
        ("k", "1,x"),
        ("v", "1e9"),
        ("q", ",".join(["1"] * 37)),
        ("at", "scores.1"),
        ("at", "q.0.0"),
        ("padding", "9"),
        ("width", "7"),
        ("mask", "both"),
        ("wide", "0"),
        ("words", "a " * 41),
    ],
)
def test_a_bad_part_is_said_and_the_rest_kept(name: str, text: str) -> None:
    state, problems = address.read(Scaled, {name: text, "draw": "3"})
    assert len(problems) == 1 and state == Scaled(draw=3)


def test_what_the_instrument_tells_becomes_the_state() -> None:
    told = json.dumps(EDITED.set_here)
    assert taken(Scaled(words="a b"), told) == EDITED
    assert taken(EDITED, json.dumps({**EDITED.set_here, "at": "", "q": []})) == replace(EDITED, at="", q=())


@pytest.mark.parametrize("said", ["", "[1]", "7", '{"width": 99}', '{"q": [1e9]}', '{"q": ["a"]}', '{"mask": null}'])
def test_nonsense_from_a_browser_changes_nothing(said: str) -> None:
    assert taken(EDITED, said) == EDITED


def test_tokens_come_and_go() -> None:
    state = Scaled()
    assert state.sized(5).tokens == ["the", "cat", "sat", "down", "word5"]
    assert state.sized(2).tokens == ["the", "cat"] and state.sized(2).padding == (1,)
    assert state.sized(1) == state and len(state.sized(9).tokens) == 6
    assert Scaled(words="").tokens == ["word 1", "word 2"]


def test_what_does_not_fit_is_said() -> None:
    assert Scaled().troubles == [] and EDITED.troubles == []
    (said,) = Scaled(words="a b c d e f g").troubles
    assert "7 words" in said and Scaled(words="a b c d e f g").tokens == list("abcdef")
    assert "has no words" in Scaled(words=" ").troubles[0]
    odd = Scaled(k=(1.0, 2.0, 3.0))
    assert "numbers of K" in odd.troubles[0] and odd.set_here["k"] == []


def test_another_model_begins_at_its_first_head() -> None:
    state = Scaled(model="a", say="mine", layer=2, head=3)
    assert state.of_model("b") == replace(state, model="b", layer=0, head=0)
    assert state.of_model("b", usual=("mine",)).say is None
    assert replace(EDITED, seeds=2).fresh() == Scaled(seeds=2)


def test_the_finding_of_the_widths_follows_the_numbers() -> None:
    widths = (1, 4, 16, 64)
    even = np.full(4, 0.18)
    said = width_finding(widths, np.array([[0.1, 0.2, 0.3, 0.0003], even]))
    assert "first rises, to 0.30 at d_k = 16, then collapses: at 64 it is 1,000 times lower" in said
    assert "Divided, it stays at 0.18." in said
    assert "falls from the start, 5.0 times lower at 64" in width_finding(
        widths, np.array([[0.5, 0.4, 0.3, 0.1], even])
    )
    assert "grows all the way, to 0.4 at 64" in width_finding(widths, np.array([[0.1, 0.2, 0.3, 0.4], even]))
    gone = width_finding(widths, np.array([[0.1, 0.2, 0.1, 0.0], [0.1, 0.2, 0.1, 0.05]]))
    assert "more than a million times lower" in gone and "Divided, it goes from 0.05 to 0.2." in gone


def test_one_width_is_said_with_its_numbers() -> None:
    said = at_width(64, 32, np.array([0.87, 0.1]), np.array([0.49, 3.72]))
    assert said == (
        "At d_k = 64 the scores are divided by 8.00. The largest of 32 weights is then 0.10, and the entropy 3.72 of "
        "at most ln 32 = 3.47 nats. Not divided they are 0.87 and 0.49."
    )


def learning(*reached: float | None) -> Learning:
    """Seeds that come below the threshold at these steps."""
    steps = np.arange(0.0, 200.0, 10.0)
    return Learning(steps, np.array([[0.01 if r is not None and s >= r else 2.0 for r in reached] for s in steps]))


def test_the_verdict_of_the_trainings_follows_the_numbers() -> None:
    assert learning(50, None).reached.tolist() == [50, np.inf]
    slower = training_verdict(64, learning(50, 60), learning(100, 120))
    assert "all two seeds come below 0.1 nats, after 50 to 60 steps" in slower and "2.0 times more slowly" in slower
    lost = training_verdict(64, learning(50, 50, 50), learning(90, None, None))
    assert "one of three seeds comes below 0.1 nats, after 90 steps" in lost and "not in every seed" in lost
    assert "hardly a difference" in training_verdict(8, learning(50), learning(50))
    assert "even slower with the division, 2.0 times" in training_verdict(8, learning(100), learning(50))
    never = training_verdict(64, learning(50), learning(None))
    assert "not divided, none of one seed comes below" in never and "more slowly" not in never
    assert training_verdict(64, learning(None), learning(None)).startswith("Neither model learned it")
    assert training_verdict(64, None, learning(50)) == ""
