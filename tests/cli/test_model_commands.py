"""The commands `predict`, `inspect` and `evaluate` on runs of every kind of task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.inspection.attention.alignment import align
from explorer.inspection.attention.attend import attend, tokenize_input
from explorer.inspection.attention.head_scores import score_heads
from explorer.inspection.load_model import load_model
from explorer.models.taps import tap_names
from explorer.run_store import store
from explorer.tasks.seq2seq.config import source_ids, target_text
from explorer.tokenization.text import from_json
from tests.terminal import RunCommand

AskJson = Callable[..., list[Any]]
TEXT = "the king and the queen"
SCORES = ("previous", "itself", "first", "same", "after_same", "entropy", "spread")


def attention_of(name: str, text: str, replica: int = 0, step: int | None = None) -> tuple[tuple[int, ...], np.ndarray]:
    run = store.find(name)
    ids = tokenize_input(run.config, from_json(run.tokenizer) if run.tokenizer else None, text).ids
    return ids, attend(load_model(run, step).single_replica(replica), ids).weights


@pytest.mark.parametrize(
    ("run", "text"), [("text-transformer", TEXT), ("negation-single-transformer", "human not preserve nature")]
)
def test_the_file_contains_every_tap_by_name(run: str, text: str, ask: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "attention.out"  # the extension stays as given
    code, out, err = ask("inspect", run, text, "--out", str(file))
    assert (code, err) == (0, "")
    assert out.endswith(f"{file}, {file.stat().st_size:,} bytes\n")
    with np.load(file) as arrays:
        assert set(arrays) == {*tap_names(load_model(store.find(run)).single_replica(0)).values(), "tokens"}
        assert arrays["tokens"].tolist() == (["<BOS>", *text.split(), "<EOS>"] if "negation" in run else list(text))
        for layer, weights in enumerate(attention_of(run, text)[1]):
            np.testing.assert_allclose(arrays[f"blocks.{layer}.attention.weights"], np.nan_to_num(weights), atol=1e-6)


def test_json_output_has_one_object_per_head(ask_json: AskJson) -> None:
    rows = ask_json("inspect", "text-transformer", TEXT, "--replica", "2", "--step", "1000")
    ids, weights = attention_of("text-transformer", TEXT, replica=2)
    scores = score_heads(weights, ids)
    heads = [("head", layer, head) for layer in range(4) for head in range(4)]
    assert [(row["kind"], row["layer"], row["head"]) for row in rows] == heads
    for row in rows:
        for name in SCORES:
            assert row[name] == pytest.approx(getattr(scores, name)[row["layer"], row["head"]], abs=1e-6)
        assert list(row["distance"]) == [str(distance) for distance in range(len(TEXT))]
        assert list(row["distance"].values()) == pytest.approx(scores.distance[row["layer"], row["head"]], abs=1e-6)


def test_an_earlier_snapshot_can_be_inspected_and_undefined_scores_are_null(ask_json: AskJson) -> None:
    rows = ask_json("inspect", "text-through-training", "a", "--step", "0")
    assert all((row["previous"], row["itself"]) == (None, 1) for row in rows)
    early, late = (ask_json("inspect", "text-through-training", TEXT, "--step", step) for step in ("0", "1000"))
    assert early != late
    ids, weights = attention_of("text-through-training", TEXT, step=0)
    assert early[5]["previous"] == pytest.approx(score_heads(weights, ids).previous[1, 1], abs=1e-6)


def test_text_output_has_one_line_per_head_and_reports_changes_to_the_text(ask: RunCommand) -> None:
    code, out, err = ask("inspect", "negation-single-transformer", "human destroy nature")
    assert (code, err) == (0, "")
    head, row = out.splitlines()
    assert head.split() == ["layer", "head", *SCORES]
    assert row.split()[:2] == ["0", "0"] and row.split()[5:7] == ["none", "none"]
    for run, text, change in (
        ("text-transformer", "x€", "Not in the vocabulary: '€' (left out).\n"),
        ("text-assignment", "The日", "The model knows lower-case letters only: the text is lower-cased.\n"),
        ("text-assignment", "The日", "Not in the vocabulary: '日' (read as <unk>).\n"),
        ("text-transformer", "so " * 22, "The context is 64 tokens: the beginning of the text is truncated, 'so'.\n"),
        (
            "negation-single-transformer",
            "human not not not preserve nature",
            "the end of the text is truncated, 'nature <EOS>'",
        ),
    ):
        assert change in ask("inspect", run, text)[2]


SENTENCE = "The bank is near the boat and the reed."


def test_predict_prints_every_position_with_its_target_and_whether_it_is_right(
    ask: RunCommand, ask_json: AskJson
) -> None:
    (prediction,) = ask_json("predict", "gloss-two", SENTENCE)
    assert (prediction["seeds"], prediction["known"]) == (5, 9)
    assert [position["token"] for position in prediction["places"]] == SENTENCE.lower().strip(".").split()
    assert prediction["places"][1]["wanted"] == "bank (river)" and 0 < prediction["places"][1]["probability"] <= 1
    code, out, _ = ask("predict", "echo-learned", "407")
    assert code == 0 and len(out.splitlines()) == 7 and "(not asked)" in out
    assert out.splitlines()[3].split() == ["3", "|", "4", *out.splitlines()[3].split()[3:]]
    assert out.splitlines()[-1] == "3 of 3 right"
    for run, text in (("agreement-heads", "the king is proud of"), ("gist-two", "the _ is here")):
        assert ask_json("predict", run, text)


def test_inspect_prints_heads_or_states_and_writes_every_tap(
    ask: RunCommand, ask_json: AskJson, tmp_path: Path
) -> None:
    file = tmp_path / "taps.npz"
    rows = ask_json("inspect", "gloss-two", SENTENCE, "--out", str(file), "--replica", "1")
    assert [row["kind"] for row in rows] == ["head"] * 8
    with np.load(file) as arrays:
        assert arrays["blocks.1.attention.weights"].shape == (4, 9, 9) and arrays["tokens"][1] == "bank"
        assert arrays["states"].shape == (9, 48)
    code, out, _ = ask("inspect", "place-turns-gru", "0123")
    assert code == 0 and out.splitlines()[0].split() == ["place", "token", "length", "moved"]
    assert out.splitlines()[1].split()[:2] == ["0", "0"] and out.splitlines()[1].endswith("none")


def test_predict_names_the_first_symbol_of_a_sequence(ask: RunCommand, ask_json: AskJson) -> None:
    (prediction,) = ask_json("predict", "recall-50-gru-chrono", "b" + "ab" * 30)
    assert (prediction["symbols"], prediction["first"], prediction["trained_at"]) == (61, "b", 50)
    assert prediction["probabilities"]["b"] > 0.95 and sum(prediction["probabilities"].values()) == pytest.approx(1)
    code, out, _ = ask("predict", "recall-50-gru-chrono", "abba")
    assert code == 0 and out.startswith("a ") and "█" in out


def test_an_impossible_date_is_translated_and_reported(ask: RunCommand) -> None:
    code, out, err = ask("predict", "dates-additive", "31 february 1999")
    assert code == 0 and "There is no such date: february 1999 has 28 days, not 31." in err
    assert len(out.splitlines()) == 3
    assert '"right": null' in ask("predict", "dates-additive", "31 february 1999", "--json")[1]


@pytest.mark.parametrize(
    ("run", "source", "right"),
    [
        ("reverse-transformer", "31415", "51413"),
        ("dates-vector", "3rd of march 1997", "1997-03-03"),
        ("dates-additive", "3rd of march 1997", "1997-03-03"),
    ],
)
def test_predict_and_inspect_agree_with_the_model(
    run: str, source: str, right: str, ask: RunCommand, ask_json: AskJson, tmp_path: Path
) -> None:
    (prediction,) = ask_json("predict", run, f" {source.upper()} ")
    assert list(prediction) == ["kind", "source", "answers", "right"]
    assert (prediction["source"], prediction["right"]) == (source, right)
    stored = store.find(run)
    models = [load_model(stored).single_replica(replica) for replica in range(len(stored.config.seeds))]
    each = [align(model, stored.config.task, source_ids(stored.config.task, source)) for model in models]
    for replica, (answer, expected) in enumerate(zip(prediction["answers"], each, strict=True)):
        probabilities = expected.probabilities[np.arange(len(expected.target)), expected.target]
        assert answer["target"] == target_text(stored.config.task, expected.target)
        assert answer["probability"] == pytest.approx(float(probabilities.prod()), abs=2e-6)
        assert answer["seed"] == replica
    assert len(ask("predict", run, source)[1].splitlines()) == len(each)
    file, expected = tmp_path / "alignment.out", each[1]
    rows = ask_json("inspect", run, source, "--replica", "1", "--out", str(file))
    with np.load(file) as arrays:
        assert set(arrays) == {*tap_names(models[1]).values(), "source", "target", "candidates", "probabilities"}
        assert "".join(arrays["source"]) == source
        assert len(arrays["target"]) == len(expected.target) == len(rows)
        np.testing.assert_array_equal(arrays["probabilities"], expected.probabilities)
    for i, row in enumerate(rows):
        assert ("weight" in row) == (expected.weights is not None)
        if expected.weights is not None:
            assert row["looks_at"] == int(expected.weights.mean(axis=(0, 1))[i].argmax())
            assert row["source_token"] == source[row["looks_at"]]


def test_own_pairs_are_trained_on_and_evaluated_with_their_file(
    ask: RunCommand, ask_json: AskJson, tmp_path: Path
) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("source,target\n" + "".join(f"{a}{b},{b}{a}\n" for a in "Abcd" for b in "xyz"))
    options = ("--task", "pairs", "--model", "encoder_decoder", "--corpus", str(file), "--set", "iterations=3")
    run = ask_json("train", *options, "--set", "hidden=8", "--set", "width=6")[-1]["run"]
    config = store.find(run).config
    assert config.own_text and config.task.sources == "Abcdxyz"  # type: ignore[union-attr]
    assert "equal to its card" in ask("evaluate", run, "--corpus", str(file))[1]
    (prediction,) = ask_json("predict", run, "Ax")
    assert (prediction["source"], prediction["right"]) == ("Ax", "xA")
    assert "which the model never saw" in ask("predict", run, "ax")[2]
