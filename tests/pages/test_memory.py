from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.training import store
from explorer.training.config import RunConfig
from explorer.training.recall_runs import CONTESTANTS, LENGTHS, USUAL
from tests.pages.screen import address, calm, frame, headings, over, page, said, settled, table, told

SMALL = {"who": "rnn-usual,gru-chrono", "length": "4", "steps": "20", "seeds": "2"}


def memory(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("memory.py", address))


def configs(**shared: object) -> list[RunConfig]:
    return [CONTESTANTS[n].config(length=4, iterations=20, replicas=2, **shared) for n in ("rnn-usual", "gru-chrono")]


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = memory()
    assert told(at) == [] and address(at) == {}
    rows = table(at, "memory-results")
    assert [row["name"]["text"] for row in rows] == [CONTESTANTS[name].title for name in USUAL]
    for row, name in zip(rows, USUAL, strict=True):
        card = store.find(f"recall-50-{name}").card
        assert row["solved"]["values"] == pytest.approx(card.metrics["accuracy"].values, abs=1e-4)
    assert [panel["title"] for panel in frame(at, "memory-lengths")] == ["RNN", "LSTM", "GRU", "Transformer"]
    assert any(heading.startswith("Who can name the first of 50 symbols?") for heading in headings(at))
    assert "The papers" in headings(at) and not any("No finished run" in part.value for part in at.markdown)


def test_every_tile_of_the_sweep_is_a_run() -> None:
    at = memory()
    tiles = frame(at, "memory-sweep")[0]["plot"]["data"][0]
    for name, row in zip(USUAL, tiles["z"], strict=True):
        for length, share in zip(LENGTHS, row, strict=True):
            accuracy = store.find(f"recall-{length}-{name}").card.metrics["accuracy"].values
            assert share == pytest.approx(sum(v is not None and v >= 0.95 for v in accuracy) / 8), (name, length)
    rates = frame(memory({"sweep": "rates"}), "memory-sweep")[0]["plot"]["data"][0]
    assert len(rates["z"]) == 8 and all(share is not None for row in rates["z"] for share in row)


def test_what_was_never_trained_is_offered_with_its_price_and_then_trained() -> None:
    at = memory({**SMALL, "seed": "7"})
    assert "No finished run of the RNN with the usual start and the GRU with open gates" in said(at).replace("\\", "")
    with pytest.raises(StopIteration):
        table(at, "memory-results")
    at = calm(at.button(key="missing.run").click().run())
    over(configs(seed=7))
    at = settled(calm(at.run()))
    assert len(table(at, "memory-results")) == 2
    assert [panel["title"] for panel in frame(at, "memory-race")] == ["RNN", "GRU"]
    assert address(at) == {**SMALL, "seed": "7"}


def test_another_length_by_hand_stands_in_the_address() -> None:
    at = memory()
    at = settled(calm(at.number_input(key="memory.length").set_value(10).run()))
    assert address(at) == {"length": "10"}
    assert any("the first of 10 symbols" in heading for heading in headings(at))
    at = settled(calm(at.button(key=next(b.key for b in at.button if b.label == "Back to the defaults")).click().run()))
    assert address(at) == {}


def test_whoever_takes_all_away_keeps_one() -> None:
    at = memory({"who": "gru-chrono"})
    at = settled(calm(at.pills(key="memory.who-gru").set_value([]).run()))
    assert address(at) == {"who": "gru-chrono"}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"length": "10000"}, "10,000 symbols in a sequence"),
        ({"length": "10000"}, "of training; this server allows 1,000 (LINEAGE_MOST_LENGTH)"),
        ({"length": "0"}, "Give a number from 1 to"),
        ({"who": "gru-chrono,perceptron"}, "There is no “perceptron”"),
        ({"who": "<b>"}, "There is no “<b>”"),
        ({"symbols": "27"}, "from 2 to 26"),
        ({"rate": "2"}, "from 0 to 1"),
        ({"nonsense": "1"}, "This page has no “nonsense”"),
    ],
)
def test_a_bad_address_is_said_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = memory(bad)
    assert sum(words in sentence for sentence in told(at)) == 1, told(at)
    assert table(at, "memory-results")


def test_one_symbol_is_no_trouble() -> None:
    at = memory({"length": "1", "who": "gru-usual"})
    assert told(at) == [] and "No finished run" in said(at)


def test_a_run_that_is_one_of_the_race_is_shown_in_it() -> None:
    at = memory({"run": store.find("recall-100-gru-forget-1").key})
    assert told(at) == [] and address(at)["length"] == "100" and "run" not in address(at)
    assert "gru-forget-1" in address(at)["who"].split(",")


def test_a_run_of_other_settings_stands_beside_the_race_and_stays_while_others_come_and_go() -> None:
    run = store.find("recall-trap-lstm")
    at = memory({"run": run.key})
    assert told(at) == [] and address(at)["run"] == run.key
    rows = [row["name"]["text"] for row in table(at, "memory-results")]
    assert rows[-1] == f"LSTM, usual start, run {run.key}" and len(rows) == len(USUAL) + 1
    at = settled(calm(at.pills(key="memory.who-gru").set_value(["gru-chrono"]).run()))
    assert len(table(at, "memory-results")) == len(USUAL) and address(at)["run"] == run.key
    at = settled(calm(at.number_input(key="memory.length").set_value(10).run()))
    assert "run" not in address(at)


@pytest.mark.parametrize(
    ("run", "words"),
    [("abcdefghijkl", "is not on this machine"), ("negation-single-rnn", "stands on another page: Negation")],
)
def test_a_run_that_stands_elsewhere_is_said_to(run: str, words: str) -> None:
    at = memory({"run": run})
    assert any(words in sentence for sentence in told(at)) and table(at, "memory-results")
