from __future__ import annotations

import dataclasses
import hashlib

import pytest

from explorer.tasks.seq2seq.pairs import (
    PairsConfig,
    PairTable,
    example_pairs,
    example_table,
    normalize_text,
    split_pairs,
)


def test_released_defaults_do_not_change() -> None:
    letters = "abcdefghiklmnoprstuvwxyz"
    assert dataclasses.asdict(PairsConfig()) == {
        "corpus": "example",
        "text": "",
        "sources": letters,
        "targets": letters,
        "longest_source": 6,
        "longest_target": 8,
        "held_out_share": 0.2,
        "split_seed": 0,
    }
    for field in dataclasses.fields(PairsConfig):
        assert field.metadata["help"].endswith("."), field.name


def test_the_example_does_not_change() -> None:
    pairs = example_pairs()
    assert len({source for source, _ in pairs}) == len(pairs) == 300
    assert {("bix", "bixes"), ("bary", "baries"), ("bay", "bays"), ("belf", "belves"), ("tinch", "tinches")} < set(
        pairs
    )
    assert hashlib.sha256(repr(pairs).encode()).hexdigest()[:12] == "1fbdbd0bf91c"


@pytest.mark.parametrize("count", [3, 4, 10, 301])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_no_source_is_in_both_parts_and_neither_is_too_small(count: int, share: float) -> None:
    pairs = [(f"source {i}", f"target {i % 2}") for i in range(count)]
    splits = [split_pairs(pairs, PairsConfig(held_out_share=share, split_seed=seed)) for seed in range(5)]
    for table in splits:
        training, held_out = ({source for source, _ in part} for part in (table.training, table.held_out))
        assert not training & held_out and len(training) >= 2 and len(held_out) >= 1
        assert sorted(table.all_pairs) == sorted(pairs)
    assert count < 10 or len({table.held_out for table in splits}) > 1, "the seed decides"


def test_characters_that_training_never_shows_are_found() -> None:
    table = PairTable((("ab", "x"), ("b", "xy")), (("ba", "y"), ("ac", "x"), ("a", "z")))
    assert table.new_characters == (("ac", "x"), ("a", "z"))
    assert (table.target_of("ab"), table.target_of("ac"), table.target_of("none")) == ("x", "x", None)
    assert example_table(PairsConfig()).new_characters == ()


def test_text_is_read_with_its_capitals_and_single_spaces() -> None:
    assert normalize_text("  Cafe\u0301 \u00a0 au\tLait\n") == "Caf\u00e9 au Lait"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"corpus": "own"}, "needs text"),
        ({"text": "0" * 64}, "goes with corpus = own only"),
        ({"corpus": "own", "text": "0" * 64, "sources": "ba"}, "sources needs each character once"),
        ({"corpus": "own", "text": "0" * 64, "targets": "aab"}, "targets needs each character once"),
        ({"longest_source": 7}, "corpus = own only"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        PairsConfig(**settings)  # type: ignore[arg-type]
