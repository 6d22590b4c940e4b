"""Findings about the comparison of language models, computed from given curves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.figures.comparison import Line
from explorer.inspection.language.bits_per_byte import HeldOutText
from explorer.inspection.language.line_overlap import LineOverlap
from explorer.jobs.job import JobView
from explorer.labs.text import findings, results_table, text_choice, training_chart
from explorer.labs.text.current_standings import current_standings, stopped_steps
from explorer.labs.text.standings import Standing, compute_standing, convert_loss
from explorer.labs.text.state import TextLab, Unit
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel
from explorer.ui.document import Document
from explorer.ui.held_out_text import CountedText
from explorer.ui.training.run_view import RunView
from tests.words import assert_mentions, assert_states

NAN = float("nan")


def curves(held_out: list[list[float]], rising: bool = False, seconds: float = 10.0) -> Curves:
    """Return curves of ten steps with these losses on a part of the held-out text, by evaluation and seed. The loss on
    training text falls to 1, or rises to it."""
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


def make_standing(model: str, held_out: list[list[float]], rising: bool = False) -> Standing:
    found = compute_standing(curves(held_out, rising), config(model, len(held_out[0])))
    assert found
    return found


def test_a_standing_has_the_best_step_and_the_gap() -> None:
    found = make_standing("gru", [[3.0, 3.2], [1.4, 1.6], [1.6, 1.8]])
    assert (found.best_step, found.best_loss, found.final_loss) == (5, 1.5, pytest.approx(1.7))
    assert found.training_tokens == 1_000
    assert found.gap == pytest.approx(0.7)
    assert found.overfits


def test_there_is_no_standing_before_the_first_evaluation() -> None:
    assert compute_standing(None, config("gru")) is None
    assert compute_standing(curves([[1.0]]).up_to(-1), config("gru")) is None
    assert compute_standing(curves([[NAN], [NAN]]), config("gru")) is None


def test_the_loss_is_converted_to_other_units() -> None:
    loss = np.array([1.5])
    assert convert_loss(loss, "loss", None)[0] == 1.5
    assert convert_loss(loss, "perplexity", None)[0] == pytest.approx(np.exp(1.5))
    assert convert_loss(loss, "bits", 3.0)[0] == pytest.approx(1.5 / np.log(2) / 3)


def test_the_best_network_is_compared_with_the_ngram() -> None:
    found = {
        "ngram": make_standing("ngram", [[1.6]]),
        "gru": make_standing("gru", [[3.0, 3.0, 3.0], [1.5, 1.52, 1.59]]),
        "rnn": make_standing("rnn", [[1.8]]),
    }
    sentence = findings.best_model_finding(found, "character")
    assert sentence == "The GRU beats the n-gram: 1.520 against 1.600 nats per character (median of three seeds)."
    assert len(sentence.split()) <= 20
    found["gru"] = make_standing("gru", [[1.5, 1.52, 1.65]])
    assert findings.best_model_finding(found, "token") == (
        "The GRU beats the n-gram (1.600 nats per token) with two of three seeds."
    )
    found["gru"] = make_standing("gru", [[1.7]])
    assert findings.best_model_finding(found, "token") == (
        "No network beats the n-gram: 1.600 nats per token, the GRU 1.700."
    )
    found["gru"] = make_standing("gru", [[1.6001]])
    assert "as good as the n-gram" in findings.best_model_finding(found, "token")


def test_unfinished_trainings_are_no_basis_for_a_finding() -> None:
    assert "No model has been trained to the end" in findings.best_model_finding({}, "token")
    assert findings.best_model_finding({}, "token", [(1, 300), (0, 300)]) == (
        "The training was stopped at step 1 of 300: too early for a result."
    )
    live = JobView(config("gru"), "ada", "running", 1, curves=curves([[3.0], [1.0]]))
    stopped = JobView(config("rnn"), "ada", "stopped", 1, curves=curves([[3.0], [1.0]]))
    views = {"gru": RunView(config("gru"), None, live), "rnn": RunView(config("rnn"), None, stopped)}
    assert current_standings(views) == {}
    assert stopped_steps(views) == [(1, config("rnn").steps)]


def test_the_effort_of_networks_is_grouped() -> None:
    found = {name: make_standing(name, [[1.5]]) for name in ("ngram", "gru", "rnn", "transformer")}
    parameters = {"ngram": 5, "gru": 201_000, "rnn": 199_000, "transformer": 804_224}
    assert findings.effort_note(found, parameters, "character") == (
        "GRU and RNN: 199,000 to 201,000 parameters, 0.0 million characters read in training; "
        "Transformer: 804,224 parameters, 0.0 million characters read in training."
    )
    assert findings.effort_note({}, {}, "token") == findings.effort_note(found, {}, "token") == ""


def test_a_lead_from_few_seeds_has_a_size_and_no_verdict() -> None:
    found = {"ngram": make_standing("ngram", [[1.6]]), "gru": make_standing("gru", [[1.50, 1.56, 1.53]])}
    assert findings.network_comparison_finding(found) == findings.network_comparison_finding({}) == ""
    found["lstm"] = make_standing("lstm", [[1.52, 1.57, 1.56]])
    assert "1.530 against 1.600 nats per token (median of three seeds)" in findings.best_model_finding(found, "token")
    sentence = findings.network_comparison_finding(found)
    assert_mentions(sentence, "GRU … best on average … LSTM by 0.020 (−0.005 to 0.045) nats … Three seeds … too few")
    assert_mentions(sentence, "95 % confidence … same test set")
    assert "n-gram" not in sentence


def test_a_lead_from_eight_seeds_has_a_verdict() -> None:
    low = list(np.linspace(1.5, 1.51, 8))
    found = {"gru": make_standing("gru", [low]), "lstm": make_standing("lstm", [[x + 0.1 for x in low[::-1]]])}
    assert_mentions(findings.network_comparison_finding(found), "Worse than GRU: LSTM by 0.100 (0.094 to 0.106) nats")
    found["rnn"] = make_standing("rnn", [[1.9, NAN]])
    assert "RNN" not in findings.network_comparison_finding(found)


def test_a_model_whose_best_step_is_past_overfits() -> None:
    over = {"gru": make_standing("gru", [[1.5], [1.4], [1.6]]), "rnn": make_standing("rnn", [[1.8], [1.7], [1.65]])}
    headline, rest = findings.overfitting_finding(over)
    assert headline == "The GRU overfits."
    assert_mentions(rest, "GRU … lowest at step 5 … 0.200 nats")
    assert findings.overfitting_finding({"rnn": over["rnn"]})[0].startswith("No network overfits yet")
    assert findings.overfitting_finding({}) == ("No network has been trained to the end yet.", "")


def test_rising_training_loss_is_instability_and_not_overfitting() -> None:
    unstable = {
        "gru": make_standing("gru", [[1.5], [1.4], [1.6]], rising=True),
        "rnn": make_standing("rnn", [[1.8], [1.7], [1.65]]),
    }
    assert not unstable["gru"].overfits
    headline, rest = findings.overfitting_finding(unstable)
    assert headline == "No network overfits; the training of the GRU is unstable."
    assert_mentions(rest, "GRU … lowest at step 5 … 0.200 nats")
    assert "lowest at the end" not in rest


def test_the_widest_gap_is_compared_with_that_of_the_ngram() -> None:
    found = {"gru": make_standing("gru", [[1.5], [1.4]]), "rnn": make_standing("rnn", [[1.8], [1.7]])}
    assert_mentions(findings.overfitting_finding(found)[1], "RNN has the widest gap of all models, 0.700 nats")
    found["ngram"] = make_standing("ngram", [[1.9]])
    assert_mentions(findings.overfitting_finding(found)[1], "Of the networks, the RNN … 0.700 … n-gram is wider, 0.900")
    found["ngram"] = make_standing("ngram", [[1.2]])
    assert_mentions(findings.overfitting_finding(found)[1], "RNN has the widest gap of all models")


def test_a_model_with_nan_is_never_the_best() -> None:
    found = {
        "ngram": make_standing("ngram", [[1.6]]),
        "gru": make_standing("gru", [[3.0], [NAN]]),
        "rnn": make_standing("rnn", [[1.8], [1.7]]),
    }
    sentence = findings.best_model_finding(found, "token")
    assert_mentions(sentence, "the RNN 1.700")
    assert "nan" not in sentence
    del found["rnn"]
    assert findings.best_model_finding(found, "token") == (
        "The losses of the networks are not finite: their training diverged."
    )
    del found["gru"]
    assert_mentions(findings.best_model_finding(found, "token"), "n-gram has a loss of 1.600 … no network")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({}, "blocks of 64 tokens without earlier context"),
        ({"rows": "sentences", "split": "sentences"}, "single lines from their start"),
        ({"rows": "prefixes", "split": "pairs"}, "one prefix of a line for each token"),
    ],
)
def test_the_caption_describes_rows(rows: dict[str, str], expected: str) -> None:
    lab = TextLab().with_shared(**{"context": 64, **rows})
    caption = training_chart.curves_caption(lab, {"feedforward": RunView(lab.configs["feedforward"], None, None)})
    assert expected in caption


def reading_on(standing: Standing) -> Standing:
    task = replace(standing.config.task_as(TextConfig), batches="contiguous")
    return replace(standing, config=replace(standing.config, task=task))


def test_losses_in_different_contexts_are_not_ranked() -> None:
    found = {
        "ngram": make_standing("ngram", [[1.57]]),
        "rnn": reading_on(make_standing("rnn", [[1.51]])),
        "gru": reading_on(make_standing("gru", [[1.50]])),
        "transformer": make_standing("transformer", [[1.62]]),
    }
    sentence = findings.best_model_finding(found, "character")
    assert sentence == "No network beats the n-gram: 1.570 nats per character, the Transformer 1.620."
    del found["transformer"]
    assert_states(findings.best_model_finding(found, "character"), "GRU has the lowest loss, 1.500 nats per character")


def test_networks_are_compared_within_one_context_only() -> None:
    found = {name: make_standing(name, [[1.50, 1.56, 1.53]]) for name in ("gru", "lstm")}
    assert findings.network_comparison_finding(found)
    found["lstm"] = reading_on(found["lstm"])
    assert findings.network_comparison_finding(found) == ""
    found["rnn"] = reading_on(make_standing("rnn", [[1.6, 1.7, 1.65]]))
    sentence = findings.network_comparison_finding(found)
    assert_mentions(sentence, "Reading on: LSTM is best … RNN by 0.120")
    assert "GRU" not in sentence
    found["transformer"] = make_standing("transformer", [[1.7, 1.8, 1.75]])
    sentence = findings.network_comparison_finding(found)
    assert_mentions(sentence, "In blocks of 64: GRU is best … Transformer by 0.220 (0.170 to 0.270) nats")
    assert_mentions(sentence, "Reading on: LSTM is best … RNN by 0.120")
    assert sentence.count("95 %") == 1, "what stands in brackets is said once"


def test_models_that_read_on_are_marked_beside_models_that_read_blocks() -> None:
    found = {name: make_standing(name, [[1.6]]) for name in ("ngram", "gru")}
    assert findings.contexts_note(found) == ""
    found["gru"] = reading_on(found["gru"])
    assert_states(
        findings.contexts_note(found),
        "same context … blocks of 64 tokens without earlier context (n-gram) … reading on … (GRU)",
    )


def test_the_caption_states_how_much_held_out_text_was_evaluated() -> None:
    lab = TextLab()

    def caption(known: Curves | None) -> str:
        return training_chart.curves_caption(
            lab, {"gru": RunView(config("gru"), None, JobView(config("gru"), "ada", "finished", 10, curves=known))}
        )

    made = curves([[3.0], [2.0]])
    whole = np.array([[NAN], [2.5]])
    assert "Evaluated" not in caption(None)
    assert_mentions(caption(made), "Evaluated on all … held-out text")  # no more is held out
    assert_mentions(
        caption(replace(made, metrics={**made.metrics, "val_loss": whole})),
        "last point … all … held-out text … 16,384 tokens",
    )
    assert_mentions(
        caption(replace(made, metrics={**made.metrics, "val_loss": np.full((2, 1), NAN)})),
        "Evaluated on at most 16,384 tokens … held-out text",
    )


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({}, ""),
        ({"tokenizer": "bytes"}, ""),
        ({"tokenizer": "word"}, "unknown words and dropped spaces and line ends cost nothing"),
        ({"tokenizer": "bpe", "rows": "sentences", "split": "sentences"}, "unknown characters and dropped spaces cost"),
        (
            {"tokenizer": "bpe", "lower": True},
            "dropped spaces and line ends cost nothing … capital letters cost nothing",
        ),
        ({"lower": True}, "capital letters cost nothing"),
    ],
)
def test_the_note_names_what_bits_per_character_leave_out(changes: dict[str, Any], lost: str) -> None:
    note = results_table.comparability_note(TextConfig(**changes), None)
    if lost:
        assert_mentions(note, lost)
    else:
        assert_states(note, "Only bits per byte … compared between tokenizers")


def test_the_note_says_what_bits_per_byte_add() -> None:
    counted = HeldOutText(targets=50, bytes=400, unknown=10, spelling=400 * np.log(2), spacing=100 * np.log(2))
    note = results_table.comparability_note(TextConfig(tokenizer="word"), counted)
    assert_mentions(note, "add 1.000 … unknown words (20.0 % … tokens) … 0.250 … spaces and line ends")
    assert "add" not in results_table.comparability_note(TextConfig(), counted)


def draw_row(task: TextConfig, awaited: tuple[str, ...], results: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return the table with one row, of a GRU with a loss of eight bits per token, and the blocks after it."""
    document = Document()
    results_table._draw_results(
        task, ["gru"], [{}], [float(8 * np.log(2))], [0.0, 1.0], awaited, document, {"table": None, **results}
    )
    data: Any = document.blocks[0]["data"]
    return data, document.blocks[1:]


def test_bits_per_byte_are_pending_until_the_text_is_counted() -> None:
    counted = CountedText(HeldOutText(50, 400, 10, 400 * np.log(2), 0.0), 20)
    task = TextConfig(tokenizer="word", vocabulary=30)

    def draw(awaited: tuple[str, ...], results: dict[str, CountedText | None]) -> tuple[str, list[Any]]:
        data, others = draw_row(task, awaited, results)
        return data["rows"][0]["cells"]["bytes"]["text"], others

    assert draw(("text",), {}) == ("…", [])
    assert draw((), {}) == draw(("text",), {"text": None}) == ("–", [])
    bits, captions = draw(("text",), {"text": counted})
    assert bits == "2.000"
    assert_states(captions[0]["text"], "30 tokens … this text gives 20")


def test_only_a_task_with_a_test_split_has_its_losses_in_the_table() -> None:
    data, _ = draw_row(TextConfig(), (), {})
    assert "test" not in [column["key"] for column in data["columns"]]
    assert_mentions(data["caption"], "all of the held-out text … no test split … evaluations … read all")
    reserved = TextConfig(test=0.25)
    for awaited, results, text in (
        (("gru",), {}, "…"),
        ((), {}, "–"),
        (("gru",), {"gru": np.array([1.5, 2.5])}, "2.000"),
    ):
        data, _ = draw_row(reserved, awaited, results)
        assert data["rows"][0]["cells"]["test"]["text"] == text
    assert [column["label"] for column in data["columns"]][5:7] == ["bits per byte", "test split"]
    assert_mentions(data["caption"], "validation split … Test split (used for nothing else) … 25.0 % of the held-out")


def test_the_caption_of_curves_says_what_bits_per_character_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_chart, "characters_per_token", lambda views, task: 2.0)
    views = {"gru": RunView(config("gru"), None, None)}

    def caption(tokenizer: str, unit: Unit) -> str:
        return training_chart.curves_caption(replace(TextLab().with_tokenizer(tokenizer), unit=unit), views)

    assert_mentions(caption("word", "bits"), "do not count unknown words and dropped spaces … bits per byte")
    for other in (caption("char", "bits"), caption("bytes", "bits"), caption("word", "loss")):
        assert "do not count" not in other


def test_the_note_on_lines_names_repeated_lines_and_a_sorted_text() -> None:
    assert text_choice.lines_note(None, False) == text_choice.lines_note(LineOverlap(0, 0, 0, 0), False) == ""
    assert_states(
        text_choice.lines_note(LineOverlap(200, 50, 100, 1), False),
        "25.0 % … 200 held-out lines … training part … 100 with more than 20 characters, 1.0 %",
    )
    assert text_choice.lines_note(LineOverlap(9, 0, 0, 0), False).startswith("None of the 9 held-out lines also occur")
    assert_states(text_choice.lines_note(LineOverlap(1, 1, 0, 0), True), "100.0 % of the 1 held-out line … sorted")


def test_figures_of_a_training_are_cached_for_all_visitors_unless_it_is_private() -> None:
    caches = (training_chart._loss_line, training_chart._model_panel, training_chart._gradient_panel)

    def misses() -> int:
        return sum(cache.cache_info().misses for cache in caches)

    lab = TextLab()
    made, own = config("gru"), with_settings(default_config("text", "gru"), {"corpus": "own", "text": "0" * 64})
    known = replace(curves([[3.0], [2.0]]), signals={"gradient_norm": np.ones((10, 1))})
    live, over = (JobView(made, "ada", state, 10, curves=known) for state in ("running", "finished"))

    def draw(made: RunConfig, view: JobView) -> tuple[Line, list[Panel]]:
        run_view = RunView(made, None, view)
        return training_chart.loss_line(run_view, "step", "loss", None), training_chart.model_panels(
            lab, {"gru": run_view}
        )

    for cache in caches:
        cache.cache_clear()
    first = draw(made, live)
    before = misses()
    assert before == 3
    again = draw(made, live)
    assert misses() == before, "another visitor gets the cached figures"
    private = draw(own, replace(over, config=own))
    assert misses() == before and sum(cache.cache_info().currsize for cache in caches) == 3
    for line, panels in (first, again, private):
        assert line.mean.tolist() == [3.0, 2.0]
        assert [panel.figure for panel in panels] == [panel.figure for panel in first[1]]
