"""The commands `predict` and `inspect` on included runs of labelling tasks, in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.terminal import RunCommand, parse_json_lines

SENTENCE = "The bank is near the boat and the reed."


def test_predict_prints_every_position_with_its_target_and_whether_it_is_right(ask: RunCommand) -> None:
    code, out, err = ask("predict", "gloss-two", SENTENCE, "--json")
    (prediction,) = parse_json_lines(out)
    assert (code, err) == (0, "") and (prediction["seeds"], prediction["known"]) == (5, 9)
    assert [position["token"] for position in prediction["places"]] == SENTENCE.lower().strip(".").split()
    assert prediction["places"][1]["wanted"] == "bank (river)" and 0 < prediction["places"][1]["probability"] <= 1
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
def test_predict_works_for_every_labelling_task(ask: RunCommand, run: str, text: str) -> None:
    code, out, err = ask("predict", run, text)
    assert (code, err) == (0, "") and out


def test_inspect_prints_heads_or_states_and_writes_every_tap(ask: RunCommand, tmp_path: Path) -> None:
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
    ("arguments", "message"),
    [
        (("predict", "gloss-two", "the bank sleeps"), "“sleeps”"),
        (("inspect", "noise-causal", "ab3"), "“3” is not a symbol of this task"),
        (("inspect", "echo-learned", "12", "--replica", "9"), "replica = 9 is not possible"),
        (("inspect", "echo-learned", "12", "--step", "7"), "has no weights of step 7"),
    ],
)
def test_invalid_arguments_print_one_sentence(ask: RunCommand, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = ask(*arguments)
    assert code == 2 and not out and message in err and "Traceback" not in err
