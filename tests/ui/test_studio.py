from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting
from explorer.ui import address
from explorer.ui.studio import LONGEST_PATH, LONGEST_PROMPT, USUAL, Studio


def test_the_address_holds_what_differs_and_is_read_back() -> None:
    studio = Studio(("text-lstm",), "", "text-lstm", "O ", 100, 7, 1.35, True, 5, 0.9, 0.05, 12, 30, (3, 1, 4), 2_000)
    assert address.write(Studio()) == {}
    assert address.read(Studio, address.write(studio)) == (studio, ())
    assert address.read(Studio, address.write(Studio(prompt=""))) == (Studio(prompt=""), ())


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("t", "warm", "t = warm is not possible. Give a number from 0 to 2"),
        ("t", "2.5", "Give a number from 0 to 2"),
        ("t", "nan", "Give a number from 0 to 2"),
        ("top_k", "-1", "Give a number from 0 to 20,000"),
        ("top_p", "1.5", "Give a number from 0 to 1"),
        ("greedy", "maybe", "Give true or false"),
        ("models", ",", "Name one to 3"),
        ("models", "a,b,c,d", "models names 4 models. Name one to 3"),
        ("path", "1,-2", "path is not possible"),
        ("path", ",".join("1" for _ in range(LONGEST_PATH + 1)), "at most 120 numbers"),
        ("path", "a", "path = a is not possible. Give whole numbers with commas between"),
        ("tokens", "5", "Give a number from 20 to 400"),
        ("length", "1e9x", "Give a number from 100 to 5,000"),
        ("prompt", "x" * 2_001, "A prompt has at most 2,000 characters; this one has 2,001"),
        ("nonsense", "1", "This page has no “nonsense”"),
    ],
)
def test_a_bad_part_of_an_address_is_a_sentence_and_the_rest_is_kept(name: str, text: str, told: str) -> None:
    studio, problems = address.read(Studio, {name: text, "seed": "3"})
    assert studio == Studio(seed=3)
    assert len(problems) == 1 and told in problems[0]


def test_another_prompt_cut_or_seed_keeps_no_place_of_the_old_text() -> None:
    studio = Studio(at=12, of=30, path=(1, 2), t=1.2)
    assert studio.writing(seed=4) == Studio(seed=4, t=1.2)
    assert studio.writing(prompt="O ") == Studio(prompt="O ", t=1.2)
    assert studio.with_models(["text-rnn"]) == Studio(models=("text-rnn",), t=1.2)
    with pytest.raises(InvalidSetting, match=f"at most {LONGEST_PROMPT:,} characters; this one has 2,001"):
        studio.writing(prompt="x" * (LONGEST_PROMPT + 1))


def test_the_models_are_one_to_three_and_the_newest_stay() -> None:
    assert Studio().with_models([]) == Studio()
    assert Studio().with_models(["a", "b", "a", "c", "d"]).models == ("b", "c", "d")


def test_the_model_in_focus_is_one_of_those_that_write() -> None:
    assert Studio().focused == USUAL[-1]
    assert Studio(focus="gone").focused == USUAL[-1]
    assert Studio().at_place(USUAL[0], 3, 5) == Studio(focus=USUAL[0], of=3, at=5)


def test_the_first_place_is_the_same_in_every_text_and_a_path_belongs_to_its_model() -> None:
    studio = Studio(path=(1, 2))
    assert studio.at_place(USUAL[-1], 9, 0) == studio
    assert studio.at_place(USUAL[-1], 9, 1).path == (1, 2)
    assert studio.at_place(USUAL[0], 9, 1).path is None
    assert address.read(Studio, address.write(Studio(path=()))) == (Studio(path=()), ())
