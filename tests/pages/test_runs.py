from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from explorer.database import engine
from explorer.environment import environment
from explorer.experiments.pretraining import shipped_configs
from explorer.run_store import index, operations, store
from explorer.run_store.archive.write import pack
from explorer.tasks.negation import NegationConfig
from tests.export.alike import short_config
from tests.labs.runs.stored import SMALL, save_small_run
from tests.pages.screen import assert_no_errors, component_data, page, page_text, url_params, warnings_of, widget


def runs_page(params: Mapping[str, str] | None = None, me: str = "ada") -> AppTest:
    return page("runs.py", params, me)


def rows(at: AppTest) -> dict[str, Any]:
    """Return the rows of the table of runs by key; empty if the page lists the tasks only."""
    tables = [data for data in component_data(at, "table") if data["file"] == "runs-table"]
    return {row["key"]: row["cells"] for row in tables[0]["rows"]} if tables else {}


def count_rows(at: AppTest) -> int:
    """Return how many runs match, over all pages of the table."""
    found = re.search(r"of ([\d,]+)$", next((c.value for c in at.caption if c.value.startswith("Runs ")), ""))
    return int(found[1].replace(",", "")) if found else len(rows(at))


def press(at: AppTest, label: str) -> AppTest:
    return assert_no_errors(next(b for b in at.button if b.label.startswith(label)).click().run())


def test_every_run_has_a_row_with_the_facts_of_its_card() -> None:
    mine, foreign = save_small_run("ada"), save_small_run("bob", "rnn", seed=7)
    at = runs_page({"tasks": "negation"})
    assert count_rows(at) == 2 + sum(isinstance(config.task, NegationConfig) for config in SHIPPED.values())
    included = store.find("negation-half-gru").key
    shown = rows(at) | rows(runs_page({"text": "negation-half-gru"}))
    for run, owner in ((mine, "yours"), (foreign, "a visitor's"), (included, "included")):
        card = store.find(run).card
        values = card.metrics["exact_accuracy"].values
        assert shown[run]["owner"]["text"] == owner
        assert shown[run]["accuracy"]["text"].startswith(f"accuracy {median(values):.3f}, most frequent class ")
        assert shown[run]["accuracy"]["values"] == pytest.approx(values, abs=1e-4)
        assert shown[run]["title"]["detail"].endswith("negation-half-gru" if owner == "included" else run)
    assert shown[included]["title"]["text"] == "GRU, “not” with probability 0.5, 8 seeds"
    assert list(rows(at))[:2] == [mine, foreign], "one's own runs are the first ones"


def test_without_filters_own_runs_stand_above_the_tasks() -> None:
    at = runs_page()
    assert (rows(at), url_params(at)) == ({}, {})
    (tasks,) = [data for data in component_data(at, "table") if data["file"] == "runs-tasks"]
    counts = {row["key"]: int(row["cells"]["runs"]["text"]) for row in tasks["rows"]}
    assert sum(counts.values()) == len(SHIPPED) and "string" not in counts
    mine, foreign = save_small_run("ada"), save_small_run("bob", "rnn")
    index.reindex()
    at = runs_page()
    assert list(rows(at)) == [mine] and foreign not in rows(at)
    (tasks,) = [data for data in component_data(at, "table") if data["file"] == "runs-tasks"]
    assert [row["cells"]["runs"]["text"] for row in tasks["rows"] if row["key"] == "others"] == ["1"]
    at.session_state["runs-tasks: open"] = "others"
    at = assert_no_errors(at.run())
    assert url_params(at) == {"others": "true"} and list(rows(at)) == [foreign]
    at = press(at, "All tasks")
    assert url_params(at) == {} and list(rows(at)) == [mine]


def test_a_task_is_opened_and_its_runs_are_shown_fifty_at_a_time() -> None:
    at = runs_page()
    at.session_state["runs-tasks: open"] = "recall"
    at = assert_no_errors(at.run())
    first, count = rows(at), count_rows(at)
    assert url_params(at) == {"tasks": "recall"} and len(first) == 50 < count
    chosen = next(iter(first))
    at.session_state["runs-table: chosen"] = [chosen]
    at = press(assert_no_errors(at.run()), "Next 50")
    assert url_params(at) == {"tasks": "recall", "page": "2", "runs": chosen}
    assert len(rows(at)) == 50 and not rows(at).keys() & first.keys()
    assert "Compare one" in [link.proto.label for link in at.get("page_link")], "the selection stays"
    at.session_state["runs-table: sort"] = "-bytes"
    at = assert_no_errors(at.run())
    last = runs_page({"tasks": "recall", "page": "900"})
    assert 0 < len(rows(last)) <= 50 and "Next" in [b.label for b in last.button]


SHIPPED = shipped_configs()
OF_LSTM = sum(config.model_name == "lstm" for config in SHIPPED.values())
OF_RNN_AND_GRU = sum(config.model_name in ("rnn", "gru") for config in SHIPPED.values())


@pytest.mark.parametrize(
    ("params", "count"),
    [
        ({"text": "lstm"}, OF_LSTM),
        ({"models": "rnn,gru"}, OF_RNN_AND_GRU + 1),
        ({"whose": "shipped"}, len(SHIPPED)),
        ({"when": "today", "whose": "mine"}, 1),
        ({"tags": "wide", "models": "gru"}, 0),
        ({"text": "MY FIRST"}, 1),
        ({"text": "%%"}, 0),  # a wildcard is a letter
        ({"others": "true"}, 0),
    ],
)
def test_a_filter_in_the_url_narrows_the_rows_and_stays(params: dict[str, str], count: int) -> None:
    run = save_small_run("ada", "rnn")
    operations.edit_card(run, "ada", False, name="my first", tags=["wide"])
    at = runs_page(params)
    assert (count_rows(at), url_params(at), len(at.warning)) == (count, params, 0)
    if not count:
        assert "No run matches." in page_text(at).replace("\\", "")


def test_an_open_run_shows_its_facts_and_links_to_its_page_and_to_compare() -> None:
    run = store.find("negation-half-gru")
    at = runs_page({"run": run.key})
    facts = {metric.label: metric.value.replace("\\", "") for metric in at.metric}
    assert facts["model"] == "GRU" and facts["probability of “not”"] == "0.5"
    assert facts["parameters"] == f"{run.card.parameters:,}"
    assert facts["steps"] == f"{run.config.steps:,} of {run.config.steps:,}"
    assert url_params(at) == {"run": run.key}
    assert f"{run.key} · trained to its end" in page_text(at)
    links = [(link.proto.page, link.proto.query_string) for link in at.get("page_link")]
    assert ("negation", f"run={run.key}") in links and ("compare", f"runs={run.key}") in links
    assert not [box for box in at.text_input if box.label == "Name"]
    assert not [button for button in at.button if button.key == "delete-open"]
    encoder = store.find("gist-two")  # the file of its page has another name than its path
    links = [link.proto.page for link in runs_page({"run": encoder.key}).get("page_link")]
    assert "sentences" in links


def test_changes_to_ones_own_run_are_stored_at_once() -> None:
    run = save_small_run()
    at = runs_page({"run": run})
    at = assert_no_errors(widget(at.text_input, f"say.{run}.name").input("my first").run())
    at = assert_no_errors(widget(at.text_area, f"say.{run}.note").input("two\nlines").run())
    at = assert_no_errors(widget(at.multiselect, f"say.{run}.tags").set_value(["wide", "odd"]).run())
    at = assert_no_errors(widget(at.toggle, f"say.{run}.pinned").set_value(True).run())
    card = json.loads((store.find(run).folder / "card.json").read_text())
    changes = {"name": "my first", "note": "two\nlines", "tags": ["wide", "odd"], "pinned": True}
    assert card.items() >= changes.items()
    assert rows(at)[run]["title"]["text"] == "my first"
    assert rows(at)[run]["owner"]["text"] == "yours, pinned"


def test_a_run_of_another_visitor_is_read_only() -> None:
    run = save_small_run("bob")
    operations.edit_card(run, "bob", False, name="bob's", note="mine", tags=["b"])
    at = runs_page({"run": run, "runs": run})
    assert any("mine" in text.value and "tags: b" in text.value for text in at.text)
    assert not [box for box in at.text_input if box.label == "Name"]
    assert next(b for b in at.button if b.label == "Delete").disabled


def test_a_deleted_run_can_be_restored_while_the_page_is_open() -> None:
    run = save_small_run()
    at = press(runs_page({"runs": run}), "Delete")
    assert run not in rows(at) and url_params(at) == {}
    assert not store.run_folder(short_config("bag_of_words", **SMALL)).exists()
    at = press(at, "Undo: bring back one run")
    assert run in rows(at)
    assert store.find(run).card.owner == "ada"


def test_a_zip_is_imported_and_opened_and_an_invalid_one_is_refused(home: Path) -> None:
    run = store.find(save_small_run())
    content = pack(run)
    operations.delete_runs([run.key], "ada", False)
    operations.purge_runs([run.key])
    at = runs_page(me="bob")
    at.file_uploader[0].upload("run.zip", b"PK\x03\x04 no zip", "application/zip")
    at = press(at, "Import it")
    assert warnings_of(at) and len(set(warnings_of(at))) == 1 and not list(home.glob("runs/*"))
    at.file_uploader[0].upload("run.zip", content, "application/zip")
    at = press(at, "Import it")
    assert url_params(at) == {"run": run.key}
    assert rows(at)[run.key]["owner"]["text"] == "yours"
    assert store.find(run.key).card.owner == "bob"


def test_the_actions_depend_on_the_selection() -> None:
    def disabled(at: AppTest) -> dict[str, bool]:
        links = {link.proto.label: link.proto.disabled for link in at.get("page_link")[:-1]}  # without the footer
        return links | {b.label: b.disabled for b in at.button if b.label == "Delete"}

    mine, shipped = save_small_run(), [e.key for e in index.search(index.Query(limit=9)) if e.shipped]
    assert disabled(runs_page()) == {}, "without a selection there is nothing to compare or delete"
    assert disabled(runs_page({"runs": mine})) == {"Compare one": False, "Delete": False}
    assert disabled(runs_page({"runs": f"{mine},{shipped[0]}"})) == {"Compare two": False, "Delete": True}
    assert disabled(runs_page({"runs": ",".join([mine, *shipped])}))["Compare nine"]


def test_selected_runs_are_compared_in_their_order() -> None:
    keys = [store.find(f"negation-single-{model}").key for model in ("gru", "rnn")]
    [link, _footer] = runs_page({"runs": ",".join(keys)}).get("page_link")
    assert (link.proto.page, dict(parse_qsl(link.proto.query_string))) == ("compare", {"runs": ",".join(keys)})


def test_a_folder_that_cannot_be_written_leaves_the_included_runs_and_a_sentence() -> None:
    at = page("runs.py", {})
    assert "nothing is stored" not in page_text(at)
    engine._opened[("", environment().home)] = engine._open_in_memory(environment().home)
    at = page("runs.py", {})
    assert "nothing is stored" in page_text(at)
    assert any("are included" in heading.value for heading in at.subheader)
