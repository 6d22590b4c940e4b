"""The commands `train`, `evaluate`, `predict` and `inspect` on runs that translate, in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explorer.inspection.attention.alignment import align
from explorer.inspection.load_model import load_model
from explorer.models.taps import tap_names
from explorer.run_store import store
from explorer.tasks.seq2seq.config import source_ids, target_text
from tests.terminal import RunCommand, parse_json_lines

SMALL = {
    "encoder_decoder": ("--set", "hidden=8", "--set", "width=6", "--set", "model.attention=additive"),
    "vector": ("--set", "hidden=8", "--set", "width=6"),
    "transformer_encoder_decoder": ("--set", "width=8", "--set", "heads=2", "--set", "hidden=9"),
}


def train_run(ask: RunCommand, task: str, kind: str) -> str:
    """Train a short run and return its key."""
    model = "encoder_decoder" if kind == "vector" else kind
    options = (
        "--set",
        "iterations=3",
        "--replicas",
        "2",
        "--json",
        *(() if task == "dates" else ("--set", "longest=3")),
    )
    code, out, err = ask("train", "--task", task, "--model", model, *SMALL[kind], *options)
    assert (code, err) == (0, "")
    return str(parse_json_lines(out)[-1]["run"])


@pytest.mark.parametrize(
    ("task", "kind", "source"),
    [
        ("reverse", "encoder_decoder", "31415"),
        ("copy", "vector", "2718281828"),
        ("dates", "transformer_encoder_decoder", "3rd of march 1997"),
    ],
)
def test_predict_and_inspect_agree_with_the_model(
    task: str, kind: str, source: str, ask: RunCommand, tmp_path: Path
) -> None:
    run = train_run(ask, task, kind)
    assert "equal to its card" in ask("evaluate", run)[1]
    code, out, err = ask("predict", run, f" {source.upper()} ", "--json")
    assert (code, err) == (0, "")
    (prediction,) = parse_json_lines(out)
    assert list(prediction) == ["kind", "source", "answers", "right"]
    assert prediction["source"] == source
    assert prediction["right"] == {"reverse": source[::-1], "copy": source, "dates": "1997-03-03"}[task]
    stored = store.find(run)
    for replica, answer in enumerate(prediction["answers"]):
        model = load_model(stored).single_replica(replica)
        expected = align(model, stored.config.task, source_ids(stored.config.task, source))
        probabilities = expected.probabilities[np.arange(len(expected.target)), expected.target]
        assert answer["target"] == target_text(stored.config.task, expected.target)
        assert answer["probability"] == pytest.approx(float(probabilities.prod()), abs=2e-6)
        assert answer["seed"] == replica
    code, out, err = ask("predict", run, source)
    assert (code, err, len(out.splitlines())) == (0, "", 2)

    file = tmp_path / "alignment.out"
    code, out, err = ask("inspect", run, source, "--replica", "1", "--out", str(file))
    assert (code, err) == (0, "")
    assert out.endswith(f"{file}, {file.stat().st_size:,} bytes\n")
    model = load_model(stored).single_replica(1)
    expected = align(model, stored.config.task, source_ids(stored.config.task, source))
    with np.load(file) as arrays:
        assert set(arrays) == {*tap_names(model).values(), "source", "target", "candidates", "probabilities"}
        assert "".join(arrays["source"]) == source
        assert len(arrays["target"]) == len(expected.target)
        np.testing.assert_array_equal(arrays["probabilities"], expected.probabilities)
    rows = parse_json_lines(ask("inspect", run, source, "--replica", "1", "--json")[1])
    assert len(rows) == len(expected.target)
    for i, row in enumerate(rows):
        assert ("weight" in row) == (kind != "vector")
        if expected.weights is not None:
            assert row["looks_at"] == int(expected.weights.mean(axis=(0, 1))[i].argmax())
            assert row["source_token"] == source[row["looks_at"]]


def test_invalid_arguments_print_one_sentence(ask: RunCommand) -> None:
    run = train_run(ask, "reverse", "vector")
    for arguments, message in (
        (("predict", run, "12a"), "The source has “a”, which the model never saw. Give digits from 0 to 9."),
        (("predict", run, ""), "The source is empty. Give digits from 0 to 9."),
        (("inspect", run, "1" * 51), "The source has 51 tokens. Give at most 50."),
        (("inspect", run, "12", "--replica", "2"), "replica = 2 is not possible. Give a whole number from 0 to 1."),
        (
            ("inspect", run, "12", "--out", "no/such/folder/a.npz"),
            "there is no folder no/such/folder.",
        ),
        (("generate", run), "this command needs a run of text"),
    ):
        code, out, err = ask(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), arguments
        assert message in err


def test_an_impossible_date_has_no_correct_answer(ask: RunCommand) -> None:
    run = train_run(ask, "dates", "vector")
    (prediction,) = parse_json_lines(ask("predict", run, "31 february 1997", "--json")[1])
    assert prediction["right"] is None


def test_own_pairs_are_trained_on_and_evaluated_with_their_file(ask: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("source,target\n" + "".join(f"{a}{b},{b}{a}\n" for a in "Abcd" for b in "xyz"))
    code, out, err = ask(
        "train", "--task", "pairs", "--model", "encoder_decoder", "--corpus", str(file), *SMALL["encoder_decoder"],
        "--set", "iterations=3", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    run = str(parse_json_lines(out)[-1]["run"])
    config = store.find(run).config
    assert config.own_text and config.task.sources == "Abcdxyz"  # type: ignore[union-attr]
    assert "equal to its card" in ask("evaluate", run, "--corpus", str(file))[1]
    (prediction,) = parse_json_lines(ask("predict", run, "Ax", "--json")[1])
    assert (prediction["source"], prediction["right"]) == ("Ax", "xA")
    assert "which the model never saw" in ask("predict", run, "ax")[2]
    code, _, err = ask("train", "--task", "pairs", "--model", "encoder_decoder", "--corpus", "missing.csv")
    assert code != 0 and "Give a CSV file with the columns source and target." in err
