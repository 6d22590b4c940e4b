"""The commands on runs whose models answer at every place, in this process; what ships is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.terminal import RunCommand, parse_json_lines

SENTENCE = "The bank is near the boat and the reed."


def test_every_place_is_told_with_its_answer_and_whether_it_is_right(ask: RunCommand) -> None:
    code, out, err = ask("predict", "gloss-two", SENTENCE, "--json")
    (said,) = parse_json_lines(out)
    assert (code, err) == (0, "") and (said["seeds"], said["known"]) == (5, 9)
    assert [place["token"] for place in said["places"]] == SENTENCE.lower().strip(".").split()
    assert said["places"][1]["wanted"] == "bank (river)" and 0 < said["places"][1]["probability"] <= 1
    code, out, _ = ask("predict", "echo-learned", "407")
    assert code == 0 and len(out.splitlines()) == 7 and "(not asked)" in out
    assert out.splitlines()[3].split() == ["3", "|", "4", *out.splitlines()[3].split()[3:]]
    assert out.splitlines()[-1] == "3 of 3 right"


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ("agreement-heads", "the king near the queens is proud of"),
        ("gist-two", "the _ is here"),
        ("place-turns-rnn", "0123"),
    ],
)
def test_every_task_that_labels_answers(ask: RunCommand, run: str, text: str) -> None:
    code, out, err = ask("predict", run, text)
    assert (code, err) == (0, "") and out


def test_inspect_tells_heads_or_states_and_writes_every_tap(ask: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "taps.npz"
    code, out, _ = ask("inspect", "gloss-two", SENTENCE, "--json", "--out", str(file), "--replica", "1")
    assert code == 0 and [row["kind"] for row in parse_json_lines(out)] == ["head"] * 8
    with np.load(file) as arrays:
        assert arrays["blocks.1.attention.weights"].shape == (4, 9, 9) and arrays["tokens"][1] == "bank"
        assert arrays["states"].shape == (9, 48)
    code, out, _ = ask("inspect", "place-turns-gru", "0123")
    assert code == 0 and out.splitlines()[0].split() == ["place", "token", "length", "moved"]
    assert out.splitlines()[1].split()[:2] == ["0", "0"] and out.splitlines()[1].endswith("none")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("predict", "gloss-two", "the bank sleeps"), "“sleeps”"),
        (("inspect", "noise-causal", "ab3"), "“3” is no sign of this task"),
        (("inspect", "echo-learned", "12", "--replica", "9"), "replica = 9 is not possible"),
        (("inspect", "echo-learned", "12", "--step", "7"), "has no weights of step 7"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(ask: RunCommand, typed: tuple[str, ...], words: str) -> None:
    code, out, err = ask(*typed)
    assert code == 2 and not out and words in err and "Traceback" not in err
