from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.catalogue import MODELS
from explorer.generation.sampling import Sampling
from explorer.generation.writing import continued
from explorer.tasks.text import TextConfig
from explorer.training import index, store
from explorer.training.config import changed, default
from explorer.training.recorder import record_run
from explorer.ui import texts
from explorer.ui.at_hand import find
from explorer.ui.studio_texts import power_of_e
from explorer.ui.studio_tree import BEGINNING
from tests.pages.screen import address, calm, drawn, headings, page, said, settled, told

SMALL = {"tokens": "20", "models": "text-ngram,text-rnn"}


def studio(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("studio.py", {**SMALL, **(address or {})}))


def temperature(at: AppTest) -> dict[str, Any]:
    return drawn(at, "temperature")[0]


def text_of(name: str, prompt: str, sampling: Sampling) -> str:
    """What the terminal writes."""
    hand = find(name)
    assert hand.tokenizer
    found = continued(hand.model(), hand.tokenizer, hand.config.on(TextConfig), prompt, 20, sampling)
    return found.texts[0]


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = settled(page("studio.py"))
    assert told(at) == [] and not at.exception
    data = temperature(at)
    assert [model["title"] for model in data["models"]] == ["n-gram", "Transformer"]
    assert [model["colour"] for model in data["models"]] == [MODELS[m].colour for m in ("ngram", "transformer")]
    assert data["focus"] == "text-transformer" and data["position"]["at"] == 0
    assert len(data["temperatures"]) == 41 and address(at) == {}
    assert "The papers" in headings(at)


def test_the_path_by_the_dice_is_the_text_that_the_terminal_writes() -> None:
    dice = {"t": "0.9", "seed": "5", "top_k": "6"}
    wanted = text_of("text-rnn", "Romeo", Sampling(0.9, 6, seed=5))
    at = studio(dice)
    tree = drawn(at, "tree")[0]
    assert tree["title"] == "RNN" and tree["here"]["candidates"]
    assert "".join(step["piece"] for step in tree["steps"]) == wanted[:BEGINNING]
    assert drawn(studio({**dice, "path": ""}), "tree")[0]["steps"] == []
    hand = find("text-rnn")
    assert hand.tokenizer
    path = hand.tokenizer.encode(wanted).tolist()
    at = studio({**dice, "path": ",".join(map(str, path))})
    steps = drawn(at, "tree")[0]["steps"]
    assert [step["dice"] for step in steps] == path
    assert "".join(step["piece"] for step in steps) == wanted
    assert all(1 <= len(step["candidates"]) <= 8 for step in steps)
    surprises = [step["surprise"] for step in steps]
    assert drawn(at, "tree")[0]["most_surprising"] == int(np.argmax(surprises))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"t": "hot"}, "t = hot is not possible. Give a number from 0 to 2."),
        ({"path": "3,900"}, "path names token 900, but this model has 0 to 64: the path begins anew."),
        ({"models": "text-rnn,gone"}, "There is no model “gone” to ask"),
        (
            {"models": "text-rnn,negation-single-gru"},
            "The run “negation-single-gru” learned negation, it cannot write.",
        ),
        ({"colour": "red"}, "This page has no “colour”"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_the_rest_goes_on(given: dict[str, str], sentence: str) -> None:
    at = studio(given)
    assert not at.exception
    assert len(told(at)) == 1 and told(at)[0].startswith(sentence)
    assert "RNN" in [model["title"] for model in temperature(at)["models"]]


@pytest.mark.parametrize(
    ("prompt", "note"),
    [
        ("", ""),
        ("日本", "Nothing of it is left to read, so the model starts from a line end. It never saw “日” and “本”"),
        ("Röm", "It never saw “ö”: left out."),
        ("x" * 90, "It sees only the last 58 letters; all up to “…xxxxxxxxxxxxxxxxxxxxxxxx” is forgotten."),
    ],
)
def test_a_prompt_that_is_not_read_as_typed_says_so(prompt: str, note: str) -> None:
    at = studio({"prompt": prompt, "models": "text-transformer"})
    assert not at.exception and told(at) == []
    [model] = temperature(at)["models"]
    assert model["note"].startswith(note) and bool(model["note"]) == bool(note)


def test_a_temperature_near_0_has_its_formula_and_is_as_the_slider_has_it() -> None:
    assert power_of_e(math.log(99.994)) == "99.99" and power_of_e(math.log(99_999.0)) == r"1.0 \cdot 10^{5}"
    assert power_of_e(1_000.0) == r"2.0 \cdot 10^{434}"  # larger than any number of this machine
    for t, shown in (("0.01", 0.01), ("1e-300", 0.0), ("0.694", 0.69)):
        at = studio({"t": t, "models": "text-transformer,text-transformer"})
        assert not at.exception and told(at) == []
        assert temperature(at)["temperature"] == shown and len(temperature(at)["models"]) == 1


def test_a_long_prompt_and_a_model_deleted_under_the_page_are_said() -> None:
    config = changed(default("text", "rnn"), {"corpus": "toy", "size": 2_000, "iterations": 2, "hidden": 8, "width": 8})
    run = store.save_run(record_run(config), store.place_of(config))
    index.refresh()
    at = studio({"models": f"text-ngram,{run.key}", "prompt": "abca "})
    assert [model["name"] for model in temperature(at)["models"]] == ["text-ngram", run.key]
    shutil.rmtree(run.folder)
    at = calm(at.run())
    assert told(at)[0].startswith(f"There is no model “{run.key}” to ask: its run was deleted")
    assert [model["name"] for model in temperature(at)["models"]] == ["text-ngram"]


def test_another_seed_is_another_text_and_no_place_of_the_old_one_is_kept() -> None:
    at = studio({"at": "7", "of": "3", "path": "1,2"})
    assert temperature(at)["position"] is not None
    before = [model["address"] for model in temperature(at)["models"]]
    at.number_input(key="studio.seed").set_value(9)
    at = settled(at.run())
    assert address(at) == {**SMALL, "seed": "9"}
    assert all(one != model["address"] for one, model in zip(before, temperature(at)["models"], strict=True))


def test_the_numbers_of_whole_texts_come_with_what_people_wrote() -> None:
    at = studio()
    text = re.sub(r"\\(.)", r"\1", said(at))
    assert "At temperature 0, " in text and "the mean of eight texts of 20 tokens" in text
    here = texts.here("tinyshakespeare")
    assert ("As varied as what people wrote is the n-gram at about" in text) == here
    assert ("Dashed: what people wrote, held-out text" in text) == here


def test_a_run_that_is_asked_for_by_name_writes_alone() -> None:
    at = studio({"run": "text-gru", "models": "text-ngram"})
    assert [model["name"] for model in temperature(at)["models"]] == ["text-gru"]
    assert address(at) == {"models": "text-gru", "tokens": "20"}
