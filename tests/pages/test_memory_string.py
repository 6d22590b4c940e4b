"""The section about the smallest language model, alone on a page."""

from __future__ import annotations

import re
from concurrent.futures import wait

import pytest
from streamlit.testing.v1 import AppTest

from explorer.tasks.strings import floor, slips
from explorer.ui import slowly
from explorer.ui.memory_string import SEEDS, learn
from tests.pages.screen import address, calm, drawn, frame, headings, said, settled, table, told


def screen() -> None:
    from explorer.ui.memory import Memory
    from explorer.ui.memory_string import string_section
    from explorer.ui.session import page_session, remember_page, write_address

    remember_page("memory")
    session = page_session("memory", Memory)
    string_section(session)
    write_address(session)


def shown(**given: str) -> AppTest:
    at = AppTest.from_function(screen, default_timeout=60)
    for name, value in given.items():
        at.query_params[name] = value
    return learned(at)


def learned(at: AppTest) -> AppTest:
    """The screen once it shows the string that was asked for last."""
    at = settled(calm(at.run()))
    while any("being learned" in caption.value for caption in at.caption):
        wait(list(slowly._works.values()))
        at = calm(at.run())
    return at


def read(at: AppTest) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", heading) for heading in headings(at)]


def test_every_number_follows_from_the_string_and_its_two_trainings() -> None:
    text = "abca abca abca "
    at = shown()
    assert told(at) == []
    assert "Memory is worth 0.297 nats here: it tells which “a” this is." in read(at)
    found = learn(text, "rnn")
    (panel,) = frame(at, "memory-string")
    means = [trace for trace in panel["plot"]["data"] if trace["name"].endswith("mean")]
    for trace, curves in zip(means, (found.kept, found.cut), strict=True):
        assert trace["y"] == pytest.approx(curves.metrics["loss"][1:].mean(axis=1).tolist(), rel=1e-4)
    (mark,) = panel["plot"]["layout"]["shapes"]
    assert mark["y0"] == floor(text)
    kept, cut = drawn(at, "slips")[0]["texts"]
    for shown_text, curves in ((kept, found.kept), (cut, found.cut)):
        written = curves.samples[-1][0]
        assert "".join(run["text"] for run in shown_text["runs"]) == written
        assert sum(run["why"] is not None for run in shown_text["runs"]) == len(slips(text, written))
    (row,) = table(at, "memory-string-contexts")
    assert (row["name"]["text"], row["share"]["text"], row["part"]["text"]) == ("“a”", "6 / 14", "0.297")
    assert r"\tfrac{6}{14} \cdot 0.693" in said(at)


def test_another_string_another_model_and_another_seed_are_in_the_address() -> None:
    at = shown(text="aab", text_seed="7")
    assert drawn(at, "slips")[0]["texts"][0]["label"].startswith("What seed 7")
    at.text_input[0].set_value("a\u0308b<b>")  # a composed letter is one character
    at = learned(at)
    assert address(at) == {"text": "äb<b>", "text_seed": "7"}
    at.selectbox[0].set_value(SEEDS - 2)
    at = learned(at)
    assert address(at)["text_seed"] == "6"
    first = drawn(at, "slips")[0]["texts"][0]
    assert first["first"] == "ä"
    assert "<b>" not in said(at).replace(r"\<b\>", "")


def test_a_pill_takes_an_example() -> None:
    at = shown(text="aab")
    at.pills[0].set_value("abcabcabc")
    at = learned(at)
    assert address(at) == {"text": "abcabcabc"}
    assert any(heading.startswith("Memory is worth nothing here") for heading in read(at))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "The string is empty"), ("a", "is a single character"), ("x" * 201, "201 characters; 2 to 200")],
)
def test_what_cannot_be_learned_is_said_and_nothing_else_is_lost(text: str, sentence: str) -> None:
    at = shown(text=text)
    (warning,) = told(at)
    assert sentence in warning
    assert drawn(at, "frame") == []
    at.text_input[0].set_value("ab")
    assert told(learned(at)) == []


def test_one_character_repeated_needs_no_training() -> None:
    at = shown(text="aaaa")
    assert "Nothing can be wrong here: “a” is the only character there is." in read(at)
    assert drawn(at, "frame") == []
