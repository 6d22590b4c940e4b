from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.language.bracket_accuracy import BracketAccuracy
from explorer.labs.text.bracket_accuracy import bracket_finding, is_bracket_task
from explorer.training.config import default_config, with_settings
from tests.labs.text.small_runs import has_figures, open_section, page_prose, run_until, small_views
from tests.pages.screen import component_data, findings


def accuracy(near: float, far: float, requested: int = 400) -> BracketAccuracy:
    last = np.array([4, 16, 60])
    return BracketAccuracy(last, np.full(3, requested), np.array([[near, near, far]]), 0.27, ")", 64)


def test_the_finding_names_models_that_close_distant_brackets(snapshot: SnapshotAssertion) -> None:
    ngram, rnn = accuracy(0.9, 0.28), accuracy(1, 0.5)
    # A model of one seed is evaluated at more positions than one of five, and so at more distances.
    many = BracketAccuracy(np.array([4, 16, 45, 60]), np.full(4, 400), np.array([[0.9, 0.9, 0.3, 0.25]]), 0.27, ")", 64)
    near = BracketAccuracy(np.array([4]), np.array([400]), np.array([[0.9]]), 0.27, ")", 64)
    short = BracketAccuracy(np.array([2, 4]), np.array([30, 10]), np.array([[1.0, 0.5]]), 0.3, "]", 64)
    assert [
        bracket_finding({"n-gram": ngram, "RNN": rnn, "Transformer": accuracy(1, 0.97)}),
        bracket_finding({"n-gram": ngram, "RNN": accuracy(0.9, 0.2)}),
        bracket_finding({"RNN": rnn}),
        bracket_finding({"RNN": accuracy(1, 0.5, requested=5)}),  # few positions
        bracket_finding({"n-gram": many, "RNN": rnn}),
        bracket_finding({"RNN": rnn, "LSTM": near}),  # the LSTM has no position at this distance
        bracket_finding({"RNN": short}),
    ] == snapshot
    assert bracket_finding({"n-gram": many, "RNN": rnn}) == bracket_finding({"RNN": rnn, "n-gram": many})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"corpus": "brackets"}, True),
        ({"corpus": "toy"}, False),
        ({"corpus": "brackets", "tokenizer": "bpe"}, False),
        ({"corpus": "brackets", "split": "windows"}, False),
        ({"corpus": "brackets", "rows": "sentences", "split": "sentences"}, False),
    ],
)
def test_bracket_accuracy_needs_the_brackets_in_characters_with_a_held_out_end(
    changes: dict[str, object], expected: bool
) -> None:
    task: Any = with_settings(default_config("text", "rnn"), changes).task
    assert is_bracket_task(task) == expected


SECTION = "explorer.labs.text.bracket_accuracy:bracket_section"


def test_bracket_accuracy_is_drawn_for_every_trained_model() -> None:
    at = run_until(open_section(SECTION, small_views("ngram", "gru")), has_figures)
    (panel,) = component_data(at, "plot_frame")[0]["figures"]
    assert [track["title"] for track in panel["tracks"]] == ["n-gram", "GRU"]
    assert "low" in panel["tracks"][1], "two seeds have a band"
    assert "mark is open" in findings(at)[0]
    assert "at which a mark closes another" in page_prose(at)
    assert any("always" in note["text"] for note in panel["plot"]["layout"]["annotations"])
    json.dumps(panel)  # nothing in it that JSON does not know
    at = open_section(SECTION, small_views("gru", train=False))
    assert not has_figures(at) and "trained" in page_prose(at)
