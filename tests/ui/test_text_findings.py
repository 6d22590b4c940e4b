"""Sentences about the race, made from curves that are known."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.training.config import RunConfig, changed, default
from explorer.training.record import Curves
from explorer.ui import text_findings
from explorer.ui.text_standings import Standing, in_unit, standing

NAN = float("nan")


def curves(held_out: list[list[float]], known: float = 1.0, seconds: float = 10.0) -> Curves:
    """A training of ten steps with an evaluation at every fifth: the loss over a part, by evaluation and seed."""
    part = np.array(held_out)
    evaluated = np.linspace(0, 10, len(part)).astype(int)
    whole = np.full_like(part, NAN)
    whole[-1] = part[-1]
    return Curves(
        0,
        np.ones((10, part.shape[1])),
        np.arange(11) * 100.0,
        np.arange(11) * seconds / 10,
        evaluated,
        {"val_loss_part": part, "val_loss": whole, "train_loss": np.full_like(part, known)},
    )


def config(model: str, seeds: int = 1) -> RunConfig:
    return changed(default("text", model), {} if model == "ngram" else {"replicas": seeds})


def stand(model: str, held_out: list[list[float]], counts: float | None = None) -> Standing:
    found = standing(curves(held_out), config(model, len(held_out[0])), counts)
    assert found
    return found


def test_a_standing_says_where_it_was_best_when_it_passed_the_counts_and_how_quick_it_is() -> None:
    found = stand("gru", [[3.0, 3.2], [1.4, 1.6], [1.6, 1.8]], counts=1.55)
    assert (found.best_step, found.best, found.end) == (5, 1.5, pytest.approx(1.7))
    assert found.passed == (5, 5.0)
    assert found.pace == pytest.approx(200)  # two seeds with a hundred tokens a second each
    assert found.gap == pytest.approx(0.7)
    assert found.overfits


def test_before_the_first_evaluation_nobody_stands_anywhere() -> None:
    assert standing(None, config("gru")) is None
    assert standing(curves([[1.0]]).until(-1), config("gru")) is None
    assert standing(curves([[NAN], [NAN]]), config("gru")) is None


def test_units_are_those_of_the_same_loss() -> None:
    loss = np.array([1.5])
    assert in_unit(loss, "loss", None)[0] == 1.5
    assert in_unit(loss, "perplexity", None)[0] == pytest.approx(np.exp(1.5))
    assert in_unit(loss, "bits", 3.0)[0] == pytest.approx(1.5 / np.log(2) / 3)


def test_the_leader_is_told_against_the_counts() -> None:
    found = {
        "ngram": stand("ngram", [[1.6]]),
        "gru": stand("gru", [[3.0], [1.5]], 1.6),
        "rnn": stand("rnn", [[1.8]], 1.6),
    }
    told = text_findings.leader(found, live=False, token="character")
    assert told == (
        "The GRU predicts best of the networks, with 1.500 nats a character; counting has 1.600. It passed the counts "
        "at step 10, after 10 s."
    )
    found["gru"] = stand("gru", [[3.0], [1.7]], 1.6)
    assert text_findings.leader(found, live=True, token="token") == (
        "So far the GRU predicts best of the networks, with 1.700 nats a token. A table of counts has 1.600, and no "
        "network here beats it yet."
    )


def test_a_lead_that_seeds_alone_could_make_is_called_luck() -> None:
    found = {"gru": stand("gru", [[1.50, 1.56]]), "lstm": stand("lstm", [[1.52, 1.57]])}
    assert "which could be luck: the LSTM has 1.545" in text_findings.leader(found, live=False, token="token")
    found["lstm"] = stand("lstm", [[2.52, 2.53]])
    found["gru"] = stand("gru", [[1.50, 1.51]])
    assert "luck" not in text_findings.leader(found, live=False, token="token")


def test_who_passes_the_counts_and_who_never_does() -> None:
    found = {
        "ngram": stand("ngram", [[1.6]]),
        "gru": stand("gru", [[3.0], [1.5]], 1.6),
        "rnn": stand("rnn", [[1.8]], 1.6),
    }
    assert text_findings.passing(found) == "Below the counts: GRU at step 10 (10 s). Never below them: RNN."
    del found["ngram"]
    assert text_findings.passing(found) == ""


def test_overfitting_is_named_where_the_best_is_past() -> None:
    over = {"gru": stand("gru", [[1.5], [1.4], [1.6]]), "rnn": stand("rnn", [[1.8], [1.7], [1.65]])}
    told = text_findings.overfitting(over)
    assert "The GRU has begun to overfit: it was best at step 5 and has lost 0.200 nats since" in told
    assert "RNN has begun" not in told
    assert text_findings.overfitting({"rnn": over["rnn"]}).startswith("No model overfits yet")
    assert text_findings.overfitting({}) == ""
