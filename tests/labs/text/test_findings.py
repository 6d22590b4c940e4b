"""Sentences about the race, made from curves that are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.figures.comparison import Line
from explorer.jobs.job import JobView
from explorer.labs.text import findings, results_table, training_chart
from explorer.labs.text.standings import Standing, compute_standing, convert_loss
from explorer.labs.text.state import TextLab
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel
from explorer.ui.training.run_view import RunView
from tests.words import assert_mentions, assert_states

NAN = float("nan")


def curves(held_out: list[list[float]], rising: bool = False, seconds: float = 10.0) -> Curves:
    """A training of ten steps with an evaluation at every fifth: the loss over a part, by evaluation and seed. That
    over known text falls to 1, or rises to it."""
    part = np.array(held_out)
    known = np.linspace(0.5 if rising else 1.5, 1.0, len(part))[:, None] if len(part) > 1 else np.ones((1, 1))
    evaluated = np.linspace(0, 10, len(part)).astype(int)
    whole = np.full_like(part, NAN)
    whole[-1] = part[-1]
    return Curves(
        0,
        np.ones((10, part.shape[1])),
        np.arange(11) * 100.0,
        np.arange(11) * seconds / 10,
        evaluated,
        {"val_loss_part": part, "val_loss": whole, "train_loss": np.broadcast_to(known, part.shape)},
    )


def config(model: str, seeds: int = 1) -> RunConfig:
    return with_settings(default_config("text", model), {} if model == "ngram" else {"replicas": seeds})


def stand(model: str, held_out: list[list[float]], counts: float | None = None, rising: bool = False) -> Standing:
    found = compute_standing(curves(held_out, rising), config(model, len(held_out[0])), counts)
    assert found
    return found


def test_a_standing_says_where_it_was_best_when_it_passed_the_counts_and_how_quick_it_is() -> None:
    found = stand("gru", [[3.0, 3.2], [1.4, 1.6], [1.6, 1.8]], counts=1.55)
    assert (found.best_step, found.best_loss, found.final_loss) == (5, 1.5, pytest.approx(1.7))
    assert found.ngram_passed == (5, 5.0)
    assert found.tokens_per_second == pytest.approx(200)  # two seeds with a hundred tokens a second each
    assert found.gap == pytest.approx(0.7)
    assert found.overfits


def test_before_the_first_evaluation_nobody_stands_anywhere() -> None:
    assert compute_standing(None, config("gru")) is None
    assert compute_standing(curves([[1.0]]).up_to(-1), config("gru")) is None
    assert compute_standing(curves([[NAN], [NAN]]), config("gru")) is None


def test_units_are_those_of_the_same_loss() -> None:
    loss = np.array([1.5])
    assert convert_loss(loss, "loss", None)[0] == 1.5
    assert convert_loss(loss, "perplexity", None)[0] == pytest.approx(np.exp(1.5))
    assert convert_loss(loss, "bits", 3.0)[0] == pytest.approx(1.5 / np.log(2) / 3)


def test_the_leader_is_told_against_the_counts() -> None:
    found = {
        "ngram": stand("ngram", [[1.6]]),
        "gru": stand("gru", [[3.0], [1.5]], 1.6),
        "rnn": stand("rnn", [[1.8]], 1.6),
    }
    told = findings.best_model_finding(found, live=False, token="character")
    assert_states(told, "GRU … best … 1.500 nats … character … 1.600 … step 10 … 10 s")
    found["gru"] = stand("gru", [[3.0], [1.7]], 1.6)
    assert_states(
        findings.best_model_finding(found, live=True, token="token"),
        "So far … GRU … best … 1.700 nats … token … 1.600 … no network … yet",
    )


def test_a_lead_that_seeds_alone_could_make_is_called_luck() -> None:
    found = {"gru": stand("gru", [[1.50, 1.56]]), "lstm": stand("lstm", [[1.52, 1.57]])}
    assert "which could be luck: the LSTM has 1.545" in findings.best_model_finding(found, live=False, token="token")
    found["lstm"] = stand("lstm", [[2.52, 2.53]])
    found["gru"] = stand("gru", [[1.50, 1.51]])
    assert "luck" not in findings.best_model_finding(found, live=False, token="token")


def test_who_passes_the_counts_and_who_never_does() -> None:
    found = {
        "ngram": stand("ngram", [[1.6]]),
        "gru": stand("gru", [[3.0], [1.5]], 1.6),
        "rnn": stand("rnn", [[1.8]], 1.6),
    }
    assert_states(findings.ngram_passed_finding(found), "Below … GRU … step 10 (10 s) … Never below … RNN")
    while_it_trains = findings.ngram_passed_finding(found, live=True)
    assert_states(while_it_trains, "Below … GRU … step 10 (10 s) … Not yet below … RNN")
    del found["gru"]
    assert findings.ngram_passed_finding(found, live=True) == "Not yet below the counts: RNN."
    assert findings.ngram_passed_finding(found) == "Never below the counts: RNN."
    del found["ngram"]
    assert findings.ngram_passed_finding(found) == ""


def test_overfitting_is_named_where_the_best_is_past() -> None:
    over = {"gru": stand("gru", [[1.5], [1.4], [1.6]]), "rnn": stand("rnn", [[1.8], [1.7], [1.65]])}
    told = findings.overfitting_finding(over)
    assert_mentions(told, "GRU … overfit … best at step 5 … 0.200 nats")
    assert "RNN has begun" not in told
    assert findings.overfitting_finding({"rnn": over["rnn"]}).startswith("No model overfits yet")
    assert findings.overfitting_finding({}) == ""


def test_where_both_losses_rise_nobody_overfits() -> None:
    unstable = {"gru": stand("gru", [[1.5], [1.4], [1.6]], rising=True), "rnn": stand("rnn", [[1.8], [1.7], [1.65]])}
    assert not unstable["gru"].overfits
    told = findings.overfitting_finding(unstable)
    assert_mentions(told, "No model overfits … GRU … best at step 5 … 0.200 nats … not")
    assert "training is unstable" in told and "RNN was best" not in told and "best where it ended" not in told


def test_a_model_without_numbers_never_leads() -> None:
    found = {
        "ngram": stand("ngram", [[1.6]]),
        "gru": stand("gru", [[3.0], [NAN]]),
        "rnn": stand("rnn", [[1.8], [1.7]]),
    }
    told = findings.best_model_finding(found, live=False, token="token")
    assert_mentions(told, "RNN … best … 1.700 nats")
    assert "nan" not in told
    del found["rnn"]
    assert_states(
        findings.best_model_finding(found, live=False, token="token"), "networks … no numbers … 1.600 nats … token"
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({}, "Each block of 64 tokens is read"),
        ({"rows": "sentences", "split": "sentences"}, "Each line is read"),
        ({"rows": "prefixes", "split": "pairs"}, "Each prefix is read"),
    ],
)
def test_the_caption_says_what_a_row_is(rows: dict[str, str], said: str) -> None:
    lab = TextLab().with_shared(**{"context": 64, **rows})
    assert said in training_chart.curves_caption(lab, {"gru": RunView(lab.configs["gru"], None, None)})


def test_the_caption_says_how_much_of_the_held_out_text_the_curves_were_measured_on() -> None:
    lab = TextLab()

    def told(known: Curves | None) -> str:
        return training_chart.curves_caption(
            lab, {"gru": RunView(config("gru"), None, JobView(config("gru"), "ada", "finished", 10, curves=known))}
        )

    made = curves([[3.0], [2.0]])
    whole = np.array([[NAN], [2.5]])
    assert "Curves" not in told(None)
    assert_mentions(told(made), "Curves and the table below … all … held-out text")  # no more is held out
    assert_mentions(
        told(replace(made, metrics={**made.metrics, "val_loss": whole})),
        "Curves: 16,384 tokens … held-out text … table below … all",
    )
    assert_mentions(
        told(replace(made, metrics={**made.metrics, "val_loss": np.full((2, 1), NAN)})),
        "Curves … at most 16,384 tokens … held-out text",
    )


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({}, ""),
        ({"tokenizer": "bytes"}, ""),
        ({"tokenizer": "word"}, "spaces and line ends"),
        ({"tokenizer": "bpe", "rows": "sentences", "split": "sentences"}, "spaces"),
        ({"tokenizer": "bpe", "lower": True}, "spaces, line ends and capital letters"),
        ({"lower": True}, "capital letters"),
    ],
)
def test_what_bits_a_character_leave_out_is_said(changes: dict[str, Any], lost: str) -> None:
    said = results_table.comparability_note(TextConfig(**changes))
    if lost:
        assert_mentions(said, f"leaves out {lost}, … nobody")
    else:
        assert_states(said, "Only bits a character … compared between tokenizers")


def test_unknown_tokens_are_said_to_flatter() -> None:
    assert results_table.unknown_tokens_sentence(0.0) == results_table.unknown_tokens_sentence(NAN) == ""
    assert_states(
        results_table.unknown_tokens_sentence(0.934), "93.4 % of the held-out tokens … unknown … not … bits … character"
    )


def test_a_live_training_is_drawn_once_for_all_and_a_private_one_stays_in_no_cache() -> None:
    caches = (training_chart._loss_line, training_chart._model_panel, training_chart._binned_gradient_norm)

    def misses() -> int:
        return sum(cache.cache_info().misses for cache in caches)

    lab = TextLab()
    made, own = config("gru"), with_settings(default_config("text", "gru"), {"corpus": "own", "text": "0" * 64})
    known = replace(curves([[3.0], [2.0]]), signals={"gradient_norm": np.ones((10, 1))})
    live, over = (JobView(made, "ada", state, 10, curves=known) for state in ("running", "finished"))

    def drawn(made: RunConfig, view: JobView) -> tuple[Line, list[Panel]]:
        lane = RunView(made, None, view)
        return training_chart.loss_line(lane, "step", "loss", None), training_chart.model_panels(lab, {"gru": lane})

    for cache in caches:
        cache.cache_clear()
    first = drawn(made, live)
    before = misses()
    assert before == 3
    again = drawn(made, live)
    assert misses() == before, "another visitor follows the same training"
    private = drawn(own, replace(over, config=own))
    assert misses() == before and sum(cache.cache_info().currsize for cache in caches) == 3
    for line, panels in (first, again, private):
        assert line.mean.tolist() == [3.0, 2.0]
        assert [panel.figure for panel in panels] == [panel.figure for panel in first[1]]
