from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.learning_rates import COMPARISONS, tuned_configs
from explorer.inspection.verdicts import judge, mean_difference, solved_difference
from explorer.jobs.scheduler import service
from explorer.labs.compare.state import MEASURES, TASK_MEASURES, default_runs
from explorer.run_store import store
from explorer.training.config import RunConfig, key
from explorer.training.recorder import record_run
from explorer.ui.verdict_sentences import verdict_words
from tests.export.alike import short_config
from tests.pages.screen import (
    assert_no_errors,
    headings,
    page,
    page_text,
    plot_frame_figures,
    table,
    url_params,
    warnings_of,
    widget,
)
from tests.training.objectives.test_text import recorded
from tests.training.objectives.test_text import short as text
from tests.words import assert_mentions

SINGLE = {model: store.find(f"negation-single-{model}") for model in ("bag_of_words", "feedforward", "rnn", "gru")}
RNN, GRU = SINGLE["rnn"].key, SINGLE["gru"].key


def compare_page(params: Mapping[str, str] | None = None) -> AppTest:
    return page("compare.py", params, "ada")


def wait_until_done(run: str) -> None:
    for _ in range(6_000):
        job = service.find(run)
        if job and job.view().done:
            return
        time.sleep(0.01)
    pytest.fail(f"{run} did not end")


def figure(at: AppTest) -> dict[str, Any]:
    return plot_frame_figures(at, "comparison")[0]


def test_the_default_runs_are_compared_without_interaction() -> None:
    at = compare_page()
    assert (url_params(at), warnings_of(at)) == ({}, [])
    assert widget(at.multiselect, "compare.runs").value == list(default_runs())
    assert len(figure(at)["plot"]["data"]) == 12
    assert any("reach 0.950" in heading.replace("\\", "") for heading in headings(at))
    assert not at.latex and not [box for box in at.selectbox if box.label == "From"], "what is folded is not drawn"
    at = compare_page({"unfold": "settings,axes"})
    settings = {row["name"]["text"] for row in table(at, "comparison-differences")}
    assert {"model", "learning rate", "epochs"} <= settings and "seed" not in settings
    assert at.latex
    at = compare_page({"runs": f"{RNN},{GRU}", "unfold": "settings"})
    assert "**Same initial weights.** 1 RNN and 2 GRU have the same initial values of" in page_text(at)


@pytest.mark.parametrize("measure", TASK_MEASURES["negation"])
def test_the_results_table_shows_the_numbers_of_each_run(measure: str) -> None:
    runs = list(SINGLE.values())
    at = compare_page({"runs": ",".join(run.key for run in runs), "y": measure})
    ends = [run.curves.last("train_loss" if measure == "batch_loss" else measure) for run in runs]
    rows = table(at, "comparison-results")
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
            differences.append(solved_difference(first > 1 - 1e-6, values > 1 - 1e-6, paired=False))
        else:
            differences.append(mean_difference(first.astype(float), values.astype(float), paired=True))
    for row, judged in zip(rows[1:], judge(differences), strict=True):
        assert row["against"]["text"].endswith(verdict_words(judged))
    assert all(np.isfinite(v) for t in figure(at)["plot"]["data"] for v in t["y"] if v is not None)


def test_runs_keep_the_order_of_the_url_and_an_unknown_run_is_reported() -> None:
    at = compare_page({"runs": f"{GRU},abcdefghijkl,{RNN}"})
    assert [row["name"]["text"] for row in table(at, "comparison-results")] == ["1 GRU", "2 RNN"]
    assert len(warnings_of(at)) == 1 and "Run “abcdefghijkl” is not on this machine" in warnings_of(at)[0]


def test_without_runs_the_page_says_what_to_do() -> None:
    at = compare_page({"runs": "abcdefghijkl"})
    assert "Choose runs above" in page_text(at)
    assert len(warnings_of(at)) == 1


def test_language_models_are_compared_by_their_own_measures() -> None:
    stored = {model: store.save_run(recorded(text(model)), store.run_folder(text(model))) for model in ("gru", "rnn")}
    at = compare_page({"runs": ",".join(run.key for run in stored.values()), "y": "test_accuracy"})
    assert not at.exception
    assert at.selectbox[0].options == [MEASURES[measure] for measure in TASK_MEASURES["text"]]
    assert at.selectbox[0].value == "val_loss_part"
    for row, run in zip(table(at, "comparison-results"), stored.values(), strict=True):
        assert row["end"]["values"] == pytest.approx(run.curves.last("val_loss_part").tolist(), rel=1e-4)
    at = compare_page({"runs": f"{stored['gru'].key},{RNN}", "y": "test_accuracy"})
    assert not at.exception
    both = {*TASK_MEASURES["text"], *TASK_MEASURES["negation"]}
    assert at.selectbox[0].options == [title for measure, title in MEASURES.items() if measure in both]


# ---- branches


def train_run(**changes: object) -> RunConfig:
    """Train and store a run, so that it can be branched from."""
    config = short_config("rnn", replicas=2, **changes)
    store.save_run(record_run(config), store.run_folder(config), "ada")
    return config


def test_a_branch_is_trained_and_starts_on_the_curve_of_its_parent() -> None:
    parent = key(train_run())
    at = compare_page({"runs": parent, "unfold": "branch"})
    at = assert_no_errors(widget(at.select_slider, f"branch.{parent}.step").set_value(10).run())
    rate = next(box for box in at.number_input if box.label == "Learning rate")
    at = assert_no_errors(rate.set_value(0.01).run())
    at = assert_no_errors(next(b for b in at.button if b.label == "Train the branch").click().run())
    _, child = url_params(at)["runs"].split(",")
    wait_until_done(child)
    at = assert_no_errors(at.run())
    run, before = store.find(child), store.find(parent).curves
    assert run.config.branch is not None
    assert (run.config.branch.parent, run.config.branch.step, run.config.optimiser.learning_rate) == (parent, 10, 0.01)
    accuracy_at_10 = before.metrics["test_accuracy"][before.evaluated.tolist().index(10)]
    np.testing.assert_array_equal(run.curves.metrics["test_accuracy"][0], accuracy_at_10)
    assert (run.curves.tokens[0], run.curves.seconds[0]) == (before.tokens[10], before.seconds[10])
    mean = figure(at)["plot"]["data"][5]
    assert (mean["x"][0], mean["y"][0]) == (10, pytest.approx(np.median(accuracy_at_10), abs=1e-4))
    at = compare_page({"runs": f"{parent},{child}", "unfold": "settings"})
    differing = {row["name"]["text"]: row for row in table(at, "comparison-differences")}
    assert differing["learning rate"][child]["text"] == "0.01"
    assert differing["branch parent"][child]["text"] == parent


def test_a_shipped_run_is_trained_here_before_it_can_be_branched(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[tuple[RunConfig, str]] = []
    monkeypatch.setattr(service, "submit", lambda config, visitor: submitted.append((config, visitor)))
    at = compare_page({"runs": RNN, "unfold": "branch"})
    assert not at.select_slider
    assert_no_errors(next(b for b in at.button if b.label == "Train it again here").click().run())
    assert submitted == [(SINGLE["rnn"].config, "ada")]


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_the_comparison_at_equal_tuning_budget_shows_every_model_at_its_own_rate(comparison: str) -> None:
    at = compare_page({"unfold": "tuned", "tuned": comparison})
    rows, configs = table(at, f"tuned-{comparison}-results"), tuned_configs(comparison)
    assert [row["rate"]["text"] for row in rows] == [f"{each.optimiser.learning_rate:g}" for each in configs.values()]
    metric = {"negation": "exact_accuracy", "recall": "accuracy", "text": "val_loss"}[comparison]
    for row, config in zip(rows, configs.values(), strict=True):
        run = store.find_by_config(config)
        assert run and row["value"]["values"] == pytest.approx(run.card.metrics[metric].values, abs=1e-4)
    assert_mentions(page_text(at), "best for it among five; every one had the same five")
    assert any(heading.startswith("At equal tuning budget") for heading in headings(at))
    assert len(table(at, f"{comparison}-learning-rates")) == len(configs)
