"""The command `inspect`, in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explorer.inspection.attention.attend import attend, tokenize_input
from explorer.inspection.attention.head_scores import score_heads
from explorer.inspection.load_model import load_model
from explorer.models.taps import tap_names
from explorer.run_store import store
from explorer.tokenization.text import from_json
from tests.terminal import RunCommand, parse_json_lines

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
    model = load_model(store.find(run)).single_replica(0)
    with np.load(file) as arrays:
        assert set(arrays) == {*tap_names(model).values(), "tokens"}
        assert arrays["tokens"].tolist() == (["<BOS>", *text.split(), "<EOS>"] if "negation" in run else list(text))
        for layer, weights in enumerate(attention_of(run, text)[1]):
            np.testing.assert_allclose(arrays[f"blocks.{layer}.attention.weights"], np.nan_to_num(weights), atol=1e-6)


def test_json_output_has_one_object_per_head(ask: RunCommand, tmp_path: Path) -> None:
    options = ("--replica", "2", "--step", "1000", "--out", str(tmp_path / "a.npz"))
    code, out, err = ask("inspect", "text-transformer", TEXT, *options, "--json")
    assert (code, err) == (0, "")
    ids, weights = attention_of("text-transformer", TEXT, replica=2)
    scores = score_heads(weights, ids)
    rows = parse_json_lines(out)
    assert [(row["kind"], row["layer"], row["head"]) for row in rows] == [
        ("head", layer, head) for layer in range(4) for head in range(4)
    ]
    for row in rows:
        for name in SCORES:
            assert row[name] == pytest.approx(getattr(scores, name)[row["layer"], row["head"]], abs=1e-6)
        assert list(row["distance"]) == [str(distance) for distance in range(len(TEXT))]
        assert list(row["distance"].values()) == pytest.approx(scores.distance[row["layer"], row["head"]], abs=1e-6)
    assert (tmp_path / "a.npz").is_file()


def test_an_earlier_snapshot_can_be_inspected_and_undefined_scores_are_null(ask: RunCommand) -> None:
    code, out, _ = ask("inspect", "text-through-training", "a", "--step", "0", "--json")
    assert code == 0
    assert all((row["previous"], row["itself"]) == (None, 1) for row in parse_json_lines(out))
    early, late = (
        parse_json_lines(ask("inspect", "text-through-training", TEXT, "--step", step, "--json")[1])
        for step in ("0", "1000")
    )
    assert early != late
    ids, weights = attention_of("text-through-training", TEXT, step=0)
    assert early[5]["previous"] == pytest.approx(score_heads(weights, ids).previous[1, 1], abs=1e-6)


def test_text_output_has_one_line_per_head(ask: RunCommand) -> None:
    code, out, err = ask("inspect", "negation-single-transformer", "human destroy nature")
    assert (code, err) == (0, "")
    head, row = out.splitlines()
    assert head.split() == ["layer", "head", *SCORES]
    assert row.split()[:2] == ["0", "0"] and row.split()[5:7] == ["none", "none"]


def test_changes_to_the_typed_text_are_reported(ask: RunCommand) -> None:
    assert ask("inspect", "text-transformer", "x€")[2] == "Not in the vocabulary: '€' (left out).\n"
    assert ask("inspect", "text-assignment", "The日")[2].splitlines() == [
        "The model knows lower-case letters only: the text is lower-cased.",
        "Not in the vocabulary: '日' (read as <unk>).",
    ]
    assert ask("inspect", "text-transformer", "so " * 22)[2] == (
        "The context is 64 tokens: the beginning of the text is truncated, 'so'.\n"
    )
    assert (
        "the end of the text is truncated, 'nature <EOS>'"
        in ask("inspect", "negation-single-transformer", "human not not not preserve nature")[2]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("text-gru", TEXT), "which has no attention to look at. Choose one that has: text-assignment, text-best"),
        (("negation-single-rnn", "human"), "Choose one that has: negation-double-transformer"),
        (("nonsense", TEXT), "There is no run “nonsense”"),
        (("text-transformer", TEXT, "--replica", "3"), "replica = 3 is not possible. Give a whole number from 0 to 2."),
        (("text-best", TEXT, "--replica", "-1"), "replica = -1 is not possible. Give 0: this run has one seed."),
        (("text-transformer", TEXT, "--step", "7"), "has no weights of step 7. Give one of 1,000."),
        (("text-transformer", TEXT, "--out", "no/such/folder/a.npz"), "there is no folder no/such/folder."),
        (("negation-single-transformer", "human destroys nature"), "never saw “destroys”"),
        (("negation-single-transformer", ""), "no word in this sentence"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_invalid_arguments_print_one_sentence(
    arguments: tuple[str, ...], message: str, as_json: bool, ask: RunCommand
) -> None:
    code, out, err = ask("inspect", *arguments, *(["--json"] if as_json else []))
    assert (code, [line["kind"] for line in parse_json_lines(out)]) == (2, ["error"] * as_json)
    assert message in err
    assert err.count("\n") == 1
