from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.inspection.verdicts import judge, mean_difference, solved_difference
from explorer.jobs.service import service
from explorer.labs.compare.state import MEASURES, TASK_MEASURES, default_runs
from explorer.labs.compare.tuned import tuned_configs
from explorer.run_store import store
from explorer.sweeps import stored
from explorer.sweeps.driver import sweep_driver
from explorer.sweeps.space import make_sweep
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run
from explorer.ui.verdict_sentences import verdict_words
from tests.export.alike import short_config
from tests.pages import screen
from tests.training.objectives.test_text import recorded
from tests.training.objectives.test_text import short as text
from tests.waiting import wait_until
from tests.words import assert_mentions

SINGLE = {model: store.find(f"negation-single-{model}") for model in ("bag_of_words", "feedforward", "rnn", "gru")}
RNN, GRU = SINGLE["rnn"].key, SINGLE["gru"].key


def compare_page(params: Mapping[str, str] | None = None) -> AppTest:
    return screen.page("compare.py", params, "ada")


def figure(at: AppTest) -> dict[str, Any]:
    return screen.plot_frame_figures(at, "comparison")[0]


def test_the_default_runs_are_compared_without_interaction() -> None:
    at = compare_page()
    assert (screen.url_params(at), screen.warnings_of(at)) == ({}, [])
    assert screen.widget(at.multiselect, "compare.runs").value == list(default_runs())
    assert len(figure(at)["plot"]["data"]) == 12
    assert any("reach 0.950" in heading.replace("\\", "") for heading in screen.headings(at))
    assert not at.latex and not [box for box in at.selectbox if box.label == "From"], "what is folded is not drawn"
    at = compare_page({"unfold": "settings,axes"})
    settings = {row["name"]["text"] for row in screen.table(at, "comparison-differences")}
    assert "model" in settings and "seed" not in settings
    assert at.latex
    at = compare_page({"runs": f"{RNN},{GRU}", "unfold": "settings"})
    assert "**Same initial weights.** 1 RNN and 2 GRU have the same initial values of" in screen.page_text(at)


@pytest.mark.parametrize("measure", ["batch_loss", "exact_accuracy"])
def test_the_results_table_shows_the_numbers_of_each_run(measure: str) -> None:
    runs = list(SINGLE.values())
    at = compare_page({"runs": ",".join(run.key for run in runs), "y": measure})
    ends = [run.curves.last("train_loss" if measure == "batch_loss" else measure) for run in runs]
    rows = screen.table(at, "comparison-results")
    assert [row["name"]["text"] for row in rows] == [f"{i} {r.config.title}" for i, r in enumerate(runs, start=1)]
    for row, run, values in zip(rows, runs, ends, strict=True):
        assert row["end"]["values"] == pytest.approx(values.tolist(), rel=1e-4)
        assert float(row["end"]["text"]) == pytest.approx(np.median(values), rel=0.06, abs=6e-4)
        assert row["parameters"]["text"] == f"{run.card.parameters:,}"
        curves = run.curves
        assert row["price"]["text"] == f"{1000 * curves.seconds[-1] / len(curves.losses):.2f} ms"
    first, *others = ends
    differences = []
    for values in others:
        if measure.endswith("accuracy") and max(first.max(), values.max()) > 1 - 1e-6:
            differences.append(solved_difference(first > 1 - 1e-6, values > 1 - 1e-6))
        else:
            differences.append(mean_difference(first.astype(float), values.astype(float), paired=True))
    for row, judged in zip(rows[1:], judge(differences), strict=True):
        assert row["against"]["text"].endswith(verdict_words(judged))
    assert all(np.isfinite(v) for t in figure(at)["plot"]["data"] for v in t["y"] if v is not None)


def test_runs_keep_the_order_of_the_url_and_an_unknown_run_is_reported() -> None:
    at = compare_page({"runs": f"{GRU},abcdefghijkl,{RNN}"})
    assert [row["name"]["text"] for row in screen.table(at, "comparison-results")] == ["1 GRU", "2 RNN"]
    assert len(screen.warnings_of(at)) == 1 and "Run “abcdefghijkl” is not on this machine" in screen.warnings_of(at)[0]
    assert "Choose runs above" in screen.page_text(compare_page({"runs": "abcdefghijkl"}))


def test_language_models_are_compared_by_their_own_measures() -> None:
    stored = {model: store.save_run(recorded(text(model)), store.run_folder(text(model))) for model in ("gru", "rnn")}
    at = compare_page({"runs": ",".join(run.key for run in stored.values()), "y": "test_accuracy"})
    assert not at.exception
    assert at.selectbox[0].options == [MEASURES[measure] for measure in TASK_MEASURES["text"]]
    assert at.selectbox[0].value == "val_loss_part"
    for row, run in zip(screen.table(at, "comparison-results"), stored.values(), strict=True):
        assert row["end"]["values"] == pytest.approx(run.curves.last("val_loss_part").tolist(), rel=1e-4)
    at = compare_page({"runs": f"{stored['gru'].key},{RNN}", "y": "test_accuracy"})
    assert not at.exception
    both = {*TASK_MEASURES["text"], *TASK_MEASURES["negation"]}
    assert at.selectbox[0].options == [title for measure, title in MEASURES.items() if measure in both]


def test_a_branch_is_trained_and_starts_on_the_curve_of_its_parent() -> None:
    config = short_config("rnn", replicas=2)
    parent = store.save_run(record_run(config), store.run_folder(config), "ada").key
    at = compare_page({"runs": parent, "unfold": "branch"})
    at = screen.assert_no_errors(screen.widget(at.select_slider, f"branch.{parent}.step").set_value(10).run())
    rate = next(box for box in at.number_input if box.label == "Learning rate")
    at = screen.assert_no_errors(rate.set_value(0.01).run())
    at = screen.assert_no_errors(next(b for b in at.button if b.label == "Train the branch").click().run())
    _, child = screen.url_params(at)["runs"].split(",")
    screen.wait_for_keys([child])
    at = screen.assert_no_errors(at.run())
    run, before = store.find(child), store.find(parent).curves
    assert run.config.branch is not None
    assert (run.config.branch.parent, run.config.branch.step, run.config.optimiser.learning_rate) == (parent, 10, 0.01)
    accuracy_at_10 = before.metrics["test_accuracy"][before.evaluated.tolist().index(10)]
    np.testing.assert_array_equal(run.curves.metrics["test_accuracy"][0], accuracy_at_10)
    assert (run.curves.tokens[0], run.curves.seconds[0]) == (before.tokens[10], before.seconds[10])
    mean = figure(at)["plot"]["data"][5]
    assert (mean["x"][0], mean["y"][0]) == (10, pytest.approx(np.median(accuracy_at_10), abs=1e-4))
    at = compare_page({"runs": f"{parent},{child}", "unfold": "settings"})
    differing = {row["name"]["text"]: row for row in screen.table(at, "comparison-differences")}
    assert differing["learning rate"][child]["text"] == "0.01"
    assert differing["branch parent"][child]["text"] == parent


def test_a_shipped_run_is_trained_here_before_it_can_be_branched(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[tuple[RunConfig, str]] = []
    monkeypatch.setattr(service, "submit", lambda config, visitor: submitted.append((config, visitor)))
    at = compare_page({"runs": RNN, "unfold": "branch"})
    assert not at.select_slider
    screen.assert_no_errors(next(b for b in at.button if b.label == "Train it again here").click().run())
    assert submitted == [(SINGLE["rnn"].config, "ada")]


def test_a_comparison_at_searched_learning_rates_opens_on_the_page() -> None:
    at = compare_page({"unfold": "tuned", "tuned": "recall"})
    configs = tuned_configs("recall")
    rows = screen.table(at, "learning-rates")
    assert [row["best"]["text"] for row in rows] == [f"{each.optimiser.learning_rate:g}" for each in configs.values()]
    (link,) = [each.proto for each in at.get("page_link") if each.proto.label == "Compare these runs"]
    runs = parse_qs(link.query_string)["runs"][0].split(",")
    assert [store.find(run).config for run in runs] == [*configs.values()]
    assert_mentions(screen.page_text(at), "every one was given the same rates")


SPACE = "learning_rate=0.0001,0.01;epochs=1,3"
FORM = {"unfold": "sweeps", "sweep_models": "rnn", "sweep_space": SPACE, "sweep_seeds": "2"}


@pytest.fixture(autouse=True)
def end_of_driver() -> Iterator[None]:
    yield
    sweep_driver.close()
    service.reset()


def test_the_form_proposes_a_search_and_another_task_brings_its_own_settings() -> None:
    at = screen.page("compare.py", {"unfold": "sweeps"}, "ada")
    assert screen.warnings_of(at) == []
    assert screen.widget(at.multiselect, "compare.sweep_models").value == ["rnn", "transformer"]
    assert screen.widget(at.multiselect, "compare.sweep_settings").value == ["learning_rate", "width"]
    assert screen.widget(at.text_input, "compare.sweep_values.width").value == "8,16,32"
    text = " ".join(str(block["text"]) for block in screen.blocks(at, "text"))
    assert "RNN: 14 runs, about " in text and "Transformer: 14 runs, about " in text
    assert "eight new seeds" in text or "8 new seeds" in text
    at = screen.assert_no_errors(screen.widget(at.selectbox, "compare.sweep_task").set_value("text").run())
    models = screen.widget(at.multiselect, "compare.sweep_models")
    assert "RNN" in models.options and "Kneser–Ney" not in " ".join(models.options)
    settings = screen.widget(at.multiselect, "compare.sweep_settings")
    assert settings.value[0] == "learning_rate" and screen.url_params(at)["sweep_task"] == "text"
    at = screen.assert_no_errors(settings.set_value(["learning_rate", "batch_size"]).run())
    assert "," in screen.widget(at.text_input, "compare.sweep_values.batch_size").value


def test_a_search_trains_and_shows_its_result() -> None:
    at = screen.page("compare.py", {**FORM, "sweep_halving": "false"}, "ada")
    at = screen.assert_no_errors(screen.widget(at.button, "sweep.start").click().run())
    keys = screen.url_params(at)["sweeps"].split(",")
    assert len(keys) == 1 and screen.warnings_of(at) == []
    wait_until(lambda: stored.find(keys[0]).state != "running", 600)
    assert stored.find(keys[0]).owner == "ada"
    at = screen.page("compare.py", {**FORM, "sweeps": keys[0]}, "ada")
    found = [str(block["text"]) for block in screen.blocks(at, "finding")]
    assert any(sentence.startswith(("Best: ", "Cannot tell which is best: ")) for sentence in found)
    assert "sweep.stop" not in [button.key for button in at.button]
    rows = screen.table(at, f"sweep-trials.{keys[0]}")
    assert len(rows) == 4 and rows[0]["trial"]["text"].startswith("learning rate 0.01, epochs 3")
    tiles = screen.plot_frame_figures(at, "sweep-figure")[0]
    assert tiles["plot"]["data"][0]["type"] == "heatmap" and tiles["pickable"]
    [best] = [
        data["rows"][0]["key"] for data in screen.component_data(at, "table") if data["file"].startswith("sweep-trials")
    ]
    at.session_state[f"sweep-trials.{keys[0]}: open"] = best
    assert screen.url_params(screen.assert_no_errors(at.run())) == {"run": best}


def test_a_stopped_search_says_so_and_continues() -> None:
    config = with_settings(default_config("negation", "rnn"), {"epochs": 3})
    sweep = make_sweep(config, {"learning_rate": [1e-4, 1e-2], "hidden": [4, 8]})
    stored.start(sweep, "ada")
    stored.stop(sweep.key, "ada")
    at = screen.page("compare.py", {"unfold": "sweeps", "sweeps": sweep.key}, "bob")
    assert "4 waiting. It was stopped; “Continue” trains the rest." in screen.page_text(at)
    assert "sweep.stop" not in [button.key for button in at.button]
    at = screen.assert_no_errors(screen.widget(at.button, "sweep.continue").click().run())
    assert stored.find(sweep.key).owner == "bob"
    assert stored.find(sweep.key).state != "stopped" and screen.warnings_of(at) == []


def test_unknown_searches_and_impossible_values_are_named() -> None:
    at = screen.page("compare.py", {**FORM, "sweeps": "aaaaaaaaaaaa"}, "ada")
    assert any("There is no sweep" in text for text in screen.warnings_of(at))
    assert "No run matches" in screen.page_text(screen.page("runs.py", {"sweep": "aaaaaaaaaaaa"}, "ada"))
    at = screen.page("compare.py", {**FORM, "sweep_space": "learning_rate=0.1,high"}, "ada")
    assert any("learning_rate = high is not possible" in str(block["text"]) for block in screen.blocks(at, "problem"))
    at = screen.assert_no_errors(screen.widget(at.button, "sweep.start").click().run())
    assert any("RNN: learning_rate = high" in text for text in screen.warnings_of(at))
    assert stored.newest() == []
