from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.inspection.comparing import difference
from explorer.training import store
from explorer.training.config import RunConfig, key
from explorer.training.jobs import service
from explorer.training.recorder import record_run
from explorer.ui.comparing import MEASURES, OF_TASK, usual_runs
from explorer.ui.comparison_results import verdict_words
from tests.pages.screen import address, calm, frame, headings, page, said, table, told
from tests.training.alike import short
from tests.training.test_text_lesson import recorded
from tests.training.test_text_lesson import short as text

SINGLE = {model: store.find(f"negation-single-{model}") for model in ("bag_of_words", "feedforward", "rnn", "gru")}
RNN, GRU = SINGLE["rnn"].key, SINGLE["gru"].key


def compare_page(given: Mapping[str, str] | None = None) -> AppTest:
    return page("compare.py", given, "ada")


def ended(run: str) -> None:
    for _ in range(6_000):
        job = service.find(run)
        if job and job.view().done:
            return
        time.sleep(0.01)
    pytest.fail(f"{run} did not end")


def figure(at: AppTest) -> dict[str, Any]:
    return frame(at, "comparison")[0]


def test_before_anybody_chose_the_four_of_the_lab_stand_here() -> None:
    at = compare_page()
    assert (address(at), told(at)) == ({}, [])
    assert at.multiselect(key="compare.runs").value == list(usual_runs())
    assert len(figure(at)["plot"]["data"]) == 12
    assert any("at 0.950" in heading.replace("\\", "") for heading in headings(at))
    settings = {row["name"]["text"] for row in table(at, "comparison-differences")}
    assert {"model", "learning_rate", "epochs"} <= settings and "seed" not in settings
    assert "No two of these runs are known to start from the same weights." in said(at)
    assert "**The same start.** 1 RNN and 2 GRU start from" in said(compare_page({"runs": f"{RNN},{GRU}"}))


@pytest.mark.parametrize("measure", OF_TASK["negation"])
def test_every_number_of_the_results_is_that_of_its_run(measure: str) -> None:
    runs = list(SINGLE.values())
    at = compare_page({"runs": ",".join(run.key for run in runs), "y": measure})
    ends = [run.curves.last("train_loss" if measure == "batch_loss" else measure) for run in runs]
    rows = table(at, "comparison-results")
    assert [row["name"]["text"] for row in rows] == [f"{i} {r.config.title}" for i, r in enumerate(runs, start=1)]
    for row, run, values in zip(rows, runs, ends, strict=True):
        assert row["end"]["values"] == pytest.approx(values.tolist(), rel=1e-4)
        assert float(row["end"]["text"]) == pytest.approx(values.mean(), rel=0.06, abs=6e-4)
        assert row["parameters"]["text"] == f"{run.card.parameters:,}"
        curves = run.curves
        assert row["price"]["text"] == f"{1000 * curves.seconds[-1] / len(curves.losses):.2f} ms"
    rising = measure.endswith("accuracy")
    first, *others = ends
    for row, values in zip(rows[1:], others, strict=True):
        found = difference(first.astype(float), values.astype(float), paired=True)
        assert row["against"]["text"] == verdict_words(found, rising)
    assert all(np.isfinite(v) for t in figure(at)["plot"]["data"] for v in t["y"] if v is not None)


def test_runs_stand_in_the_order_of_the_address_and_an_unknown_one_is_one_sentence() -> None:
    at = compare_page({"runs": f"{GRU},abcdefghijkl,{RNN}"})
    assert [row["name"]["text"] for row in table(at, "comparison-results")] == ["1 GRU", "2 RNN"]
    assert len(told(at)) == 1 and "Run “abcdefghijkl” is not on this machine" in told(at)[0]


def test_more_than_eight_are_cut_with_a_sentence() -> None:
    keys = list(store.pretrained())[:9]
    at = compare_page({"runs": ",".join(keys)})
    assert told(at) == ["9 runs were asked for; 8 fit side by side."]
    assert address(at) == {"runs": ",".join(keys[:8])}
    assert len(table(at, "comparison-results")) == 8


def test_no_run_at_all_says_what_to_do() -> None:
    at = compare_page({"runs": "abcdefghijkl"})
    assert "Choose runs above" in said(at)
    assert len(told(at)) == 1


def test_language_models_are_compared_by_what_they_have() -> None:
    kept = {model: store.save_run(recorded(text(model)), store.place_of(text(model))) for model in ("gru", "rnn")}
    at = compare_page({"runs": ",".join(run.key for run in kept.values()), "y": "test_accuracy"})
    assert not at.exception
    assert at.selectbox[0].options == [MEASURES[measure] for measure in OF_TASK["text"]]
    assert at.selectbox[0].value == "val_loss_part"
    for row, run in zip(table(at, "comparison-results"), kept.values(), strict=True):
        assert row["end"]["values"] == pytest.approx(run.curves.last("val_loss_part").tolist(), rel=1e-4)
    at = compare_page({"runs": f"{kept['gru'].key},{RNN}", "y": "test_accuracy"})
    assert not at.exception
    both = {*OF_TASK["text"], *OF_TASK["negation"]}
    assert at.selectbox[0].options == [said for measure, said in MEASURES.items() if measure in both]


def test_how_the_curves_are_drawn_is_in_the_address() -> None:
    given = {"x": "seconds", "y": "train_loss", "smooth": "0.9", "log_x": "true", "log_y": "true", "target": "0.2"}
    at = compare_page(given)
    assert address(at) == given
    layout = figure(at)["plot"]["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("log", "log")
    assert figure(at)["target"]["value"] == 0.2 and not figure(at)["target"]["rising"]
    at = calm(at.segmented_control(key="compare.x").set_value("tokens").run())
    at = calm(at.selectbox(key="compare.y").set_value("batch_loss").run())
    at = calm(at.slider(key="compare.smooth").set_value(0.0).run())
    at = calm(at.toggle(key="compare.log_y").set_value(False).run())
    assert address(at) == {"x": "tokens", "y": "batch_loss", "log_x": "true"}  # another measure, another target


def test_a_target_that_is_dragged_moves_the_words_and_the_address() -> None:
    at = compare_page({"runs": f"{RNN},{GRU}"})
    at.session_state["comparison: target"] = 0.9
    at = calm(at.run())
    assert address(at)["target"] == "0.9"
    assert any("at 0.900" in heading.replace("\\", "") for heading in headings(at))


# ---- branches


def trained(**changes: object) -> RunConfig:
    """A run that was trained here, so that it can be gone on from."""
    config = short("rnn", replicas=2, **changes)
    store.save_run(record_run(config), store.place_of(config), "ada")
    return config


def test_a_branch_is_trained_and_starts_on_its_parents_curve() -> None:
    parent = key(trained())
    at = compare_page({"runs": parent})
    at = calm(at.select_slider(key=f"branch.{parent}.step").set_value(10).run())
    rate = next(box for box in at.number_input if box.label == "Learning rate")
    at = calm(rate.set_value(0.01).run())
    at = calm(next(b for b in at.button if b.label == "Train the branch").click().run())
    _, child = address(at)["runs"].split(",")
    ended(child)
    at = calm(at.run())
    run, before = store.find(child), store.find(parent).curves
    assert run.config.branch is not None
    assert (run.config.branch.parent, run.config.branch.step, run.config.optimiser.learning_rate) == (parent, 10, 0.01)
    at_10 = before.metrics["test_accuracy"][before.evaluated.tolist().index(10)]
    np.testing.assert_array_equal(run.curves.metrics["test_accuracy"][0], at_10)
    assert (run.curves.tokens[0], run.curves.seconds[0]) == (before.tokens[10], before.seconds[10])
    mean = figure(at)["plot"]["data"][5]
    assert (mean["x"][0], mean["y"][0]) == (10, pytest.approx(at_10.mean(), abs=1e-4))
    differing = {row["name"]["text"]: row for row in table(at, "comparison-differences")}
    assert differing["learning_rate"][child]["text"] == "0.01"
    assert differing["branch parent"][child]["text"] == parent


def test_what_a_branch_cannot_be_is_said_and_nothing_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = key(trained())
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "40")
    at = compare_page({"runs": parent})
    at = calm(next(box for box in at.number_input if box.label == "Epochs in all").set_value(11).run())
    assert any("this server allows 40 (LINEAGE_MOST_STEPS)" in sentence for sentence in told(at))
    assert not [b for b in at.button if b.label == "Train the branch"]


def test_a_run_that_ships_is_trained_here_before_it_can_be_branched_from(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[RunConfig, str]] = []
    monkeypatch.setattr(service, "submit", lambda config, visitor: asked.append((config, visitor)))
    at = compare_page({"runs": RNN})
    assert not at.select_slider
    calm(next(b for b in at.button if b.label == "Train it here").click().run())
    assert asked == [(SINGLE["rnn"].config, "ada")]
