"""Sentences about the race, made from curves that are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.figures.comparison import Line
from explorer.tasks.text import TextConfig
from explorer.training.config import RunConfig, changed, default
from explorer.training.job import View
from explorer.training.record import Curves
from explorer.ui import text_findings, text_race, text_results
from explorer.ui.components import Panel
from explorer.ui.runs import Lane
from explorer.ui.text_lab import TextLab
from explorer.ui.text_standings import Standing, in_unit, standing

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
    return changed(default("text", model), {} if model == "ngram" else {"replicas": seeds})


def stand(model: str, held_out: list[list[float]], counts: float | None = None, rising: bool = False) -> Standing:
    found = standing(curves(held_out, rising), config(model, len(held_out[0])), counts)
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
    while_it_trains = text_findings.passing(found, live=True)
    assert while_it_trains == "Below the counts: GRU at step 10 (10 s). Not yet below them: RNN."
    del found["gru"]
    assert text_findings.passing(found, live=True) == "Not yet below the counts: RNN."
    assert text_findings.passing(found) == "Never below the counts: RNN."
    del found["ngram"]
    assert text_findings.passing(found) == ""


def test_overfitting_is_named_where_the_best_is_past() -> None:
    over = {"gru": stand("gru", [[1.5], [1.4], [1.6]]), "rnn": stand("rnn", [[1.8], [1.7], [1.65]])}
    told = text_findings.overfitting(over)
    assert "The GRU has begun to overfit: it was best at step 5 and has lost 0.200 nats since" in told
    assert "RNN has begun" not in told
    assert text_findings.overfitting({"rnn": over["rnn"]}).startswith("No model overfits yet")
    assert text_findings.overfitting({}) == ""


def test_where_both_losses_rise_nobody_overfits() -> None:
    unstable = {"gru": stand("gru", [[1.5], [1.4], [1.6]], rising=True), "rnn": stand("rnn", [[1.8], [1.7], [1.65]])}
    assert not unstable["gru"].overfits
    told = text_findings.overfitting(unstable)
    assert told.startswith("No model overfits. The GRU was best at step 5 and has lost 0.200 nats since, but has not ")
    assert "training is unstable" in told and "RNN was best" not in told and "best where it ended" not in told


def test_a_model_without_numbers_never_leads() -> None:
    found = {
        "ngram": stand("ngram", [[1.6]]),
        "gru": stand("gru", [[3.0], [NAN]]),
        "rnn": stand("rnn", [[1.8], [1.7]]),
    }
    told = text_findings.leader(found, live=False, token="token")
    assert told.startswith("The RNN predicts best of the networks, with 1.700 nats") and "nan" not in told
    del found["rnn"]
    assert text_findings.leader(found, live=False, token="token") == (
        "The losses of the networks are no numbers any more; counting has 1.600 nats a token."
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
    assert said in text_race.caption(lab, {"gru": Lane(lab.configs["gru"], None, None)})


def test_the_caption_says_how_much_of_the_held_out_text_the_curves_were_measured_on() -> None:
    lab = TextLab()

    def told(known: Curves | None) -> str:
        return text_race.caption(
            lab, {"gru": Lane(config("gru"), None, View(config("gru"), "ada", "finished", 10, curves=known))}
        )

    made = curves([[3.0], [2.0]])
    whole = np.array([[NAN], [2.5]])
    assert "Curves" not in told(None)
    assert "Curves and the table below: all of the held-out text." in told(made)  # no more is held out
    assert "Curves: 16,384 tokens of the held-out text; the table below: all of it." in told(
        replace(made, metrics={**made.metrics, "val_loss": whole})
    )
    assert "Curves: at most 16,384 tokens of the held-out text." in told(
        replace(made, metrics={**made.metrics, "val_loss": np.full((2, 1), NAN)})
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
    said = text_results.compared(TextConfig(**changes))
    if lost:
        assert f"; here the comparison leaves out {lost}, which nobody has to predict." in said
    else:
        assert said == "Only bits a character can be compared between tokenizers."


def test_unknown_tokens_are_said_to_flatter() -> None:
    assert text_results.unknown(0.0) == text_results.unknown(NAN) == ""
    assert text_results.unknown(0.934) == (
        "93.4\u00a0% of the held-out tokens are unknown to this tokenizer and are not spelled out, so bits a character "
        "flatter it."
    )


def test_a_live_training_is_drawn_once_for_all_and_a_private_one_stays_in_no_cache() -> None:
    caches = (text_race._line, text_race._each, text_race._smooth)

    def misses() -> int:
        return sum(cache.cache_info().misses for cache in caches)

    lab = TextLab()
    made, own = config("gru"), changed(default("text", "gru"), {"corpus": "own", "text": "0" * 64})
    known = replace(curves([[3.0], [2.0]]), signals={"gradient_norm": np.ones((10, 1))})
    live, over = (View(made, "ada", state, 10, curves=known) for state in ("running", "finished"))

    def drawn(made: RunConfig, view: View) -> tuple[Line, list[Panel]]:
        lane = Lane(made, None, view)
        return text_race.line(lane, "step", "loss", None), text_race.each(lab, {"gru": lane})

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
