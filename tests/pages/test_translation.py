from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.tasks.dates import WAYS
from explorer.training import store
from explorer.training.recorder import record_run
from explorer.training.translation_runs import CONTESTANTS
from explorer.ui.translation import Translation
from tests.pages.screen import address, calm, frame, headings, over, page, said, settled, table, told

SMALL = {"who": "vector", "steps": "12", "seeds": "2", "longest": "3"}


def translation(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("translation.py", address))


@pytest.mark.parametrize("task", ["reverse", "copy", "dates"])
def test_every_task_is_alive_when_it_is_opened(task: str) -> None:
    at = translation({} if task == "reverse" else {"task": task})
    assert told(at) == [] and not any("No finished run" in part.value for part in at.markdown)
    rows = table(at, "translation-results")
    assert [row["name"]["text"] for row in rows] == [each.title for each in CONTESTANTS.values()]
    for row, name in zip(rows, CONTESTANTS, strict=True):
        card = store.find(f"{task}-{name}").card
        assert row["exact"]["values"] == pytest.approx(card.metrics["exact"].values, abs=1e-4)
        assert row["name"]["colour"] == CONTESTANTS[name].colour
    assert "The papers" in headings(at)


def test_the_figure_is_what_the_runs_measured() -> None:
    lines = frame(translation(), "translation-exact")[0]["plot"]["data"]
    means = {trace["name"]: trace["y"] for trace in lines if trace["name"].endswith("mean")}
    assert len(means) == len(CONTESTANTS)
    run = store.find("reverse-additive")
    wanted = run.curves.answers["by_length"][-1].mean(axis=0)
    assert next(y for name, y in means.items() if name.startswith("attention")) == pytest.approx(wanted, abs=1e-3)
    tiles = frame(translation({"task": "dates"}), "translation-exact")[0]["plot"]["data"][0]
    assert len(tiles["z"]) == len(WAYS)


def test_touching_takes_from_those_that_look_and_has_no_tile_where_there_is_nothing_to_touch() -> None:
    tiles = frame(translation(), "translation-touch")[0]["plot"]["data"][0]["z"]
    intact, uniform, frozen, shuffled, cut = tiles
    assert uniform[0] is None and frozen[1] is None, "one vector has no attention"
    assert intact[2] > 0.95 and uniform[2] < 0.5 and cut[2] < 0.1 and shuffled[2] < 0.5


def test_another_task_is_a_part_of_the_address_and_brings_its_own_source() -> None:
    at = translation({"say": "2718"})
    at = settled(calm(at.segmented_control(key="translation.task").set_value("dates").run()))
    assert address(at) == {"task": "dates"}


def test_what_was_never_trained_is_offered_and_then_trained() -> None:
    at = translation({**SMALL, "seed": "9"})
    assert "No finished run of the model with one vector" in said(at).replace("\\", "")
    at = calm(at.button(key="missing.run").click().run())
    over([CONTESTANTS["vector"].config("reverse", iterations=12, replicas=2, longest=3, seed=9)])
    at = settled(calm(at.run()))
    assert len(table(at, "translation-results")) == 1
    assert address(at) == {**SMALL, "seed": "9"}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"task": "dreams"}, "one of reverse, copy, dates"),
        ({"who": "oracle"}, "There is no “oracle”"),
        ({"longest": "41"}, "from 1 to 40"),
        ({"steps": "100000"}, "optimiser steps"),
        ({"width": "9"}, "from 1 to 8"),
        ({"<b>": "1"}, "This page has no “<b>”"),
    ],
)
def test_a_bad_address_is_said_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = translation(bad)
    assert any(words in sentence for sentence in told(at)), told(at)
    assert table(at, "translation-results")


def test_the_state_knows_its_own_examples() -> None:
    assert Translation().saying("2718281828") == Translation()
    assert Translation(at=3).saying("12").at == -1 and Translation(say="12").on("dates").say == ""


def test_a_run_is_shown_on_its_task() -> None:
    at = translation({"run": store.find("dates-additive").key})
    assert told(at) == [] and address(at) == {"task": "dates"}


def test_a_run_of_other_settings_stands_beside_the_race() -> None:
    other = CONTESTANTS["vector"].config("copy", hidden=8, width=4, iterations=3, replicas=2)
    run = store.save_run(record_run(other), store.place_of(other))
    at = translation({"run": run.key})
    assert told(at) == [] and address(at)["run"] == run.key and address(at)["task"] == "copy"
    assert [row["name"]["text"] for row in table(at, "translation-results")] == [f"One vector, run {run.key}"]
    at = translation({"run": "recall-50-gru-chrono"})
    assert any("stands on another page: Memory, /memory?run=" in sentence for sentence in told(at))
