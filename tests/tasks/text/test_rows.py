from __future__ import annotations

import hashlib
import itertools
import math
import string
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor
from torch.utils.data import random_split

from explorer.environment import environment
from explorer.errors import NeedsText, TextError
from explorer.seeds import generator
from explorer.tasks.text import corpora, token_arrays
from explorer.tasks.text import rows as text_rows
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import store_text, validated_text
from explorer.tasks.text.rows import Batch, TextData, drop_text_data, text_data
from tests import needs

Patch = pytest.MonkeyPatch
ALPHABET = string.ascii_letters + string.digits  # 62 letters, each once: a letter names its place
LINES = """
The first line has seven words in it.
Too short.
And the second line has a few words more than that one.
Here are exactly six words, friend.
The fourth line is the last, and it has a comma.
"""
ASSIGNMENT: dict[str, Any] = {"rows": "sentences", "split": "pairs", "tokenizer": "bpe", "lower": True, "context": 15}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    token_arrays.reset()
    text_rows.reset()


def own(text: str, **settings: Any) -> TextData:
    return text_data(TextConfig(corpus="own", text=store_text(text), **settings))


def sentences(**settings: Any) -> TextData:
    return own(LINES, **{"rows": "sentences", "split": "pairs", "held_out": 0.4} | settings)


def read(data: TextData, ids: Tensor) -> str:
    return "".join(data.tokenizer.tokens[i] for i in ids.tolist())


def unmasked_targets(data: TextData, batches: Iterable[Batch]) -> list[str]:
    """Return every target in the loss."""
    return [token for batch in batches for token in read_masked(data, batch)]


def read_masked(data: TextData, batch: Batch) -> str:
    return read(
        data, batch.targets[torch.ones_like(batch.targets, dtype=torch.bool) if batch.mask is None else batch.mask]
    )


def equal_batches(left: Batch, right: Batch) -> bool:
    masks = left.mask is None if right.mask is None else left.mask is not None and torch.equal(left.mask, right.mask)
    return torch.equal(left.ids, right.ids) and torch.equal(left.targets, right.targets) and masks


KINDS: list[dict[str, Any]] = [
    {},
    {"batches": "contiguous"},
    {"split": "windows"},
    {"rows": "sentences", "split": "sentences"},
    {"rows": "sentences", "split": "pairs"},
    {"rows": "prefixes", "split": "sentences"},
    {"rows": "prefixes", "split": "pairs"},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: " ".join(kind.values()) or "blocks")


def repeats(**settings: Any) -> TextData:
    return text_data(TextConfig(corpus="repeats", size=3_001, **{"context": 13, "held_out": 0.2} | settings))


# All kinds


@every_kind
def test_a_batch_is_determined_by_its_arguments(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    first = data.batch(5, 2, 3, 7)
    data.batch(6, 2, 1, 3)
    assert equal_batches(data.batch(5, 2, 3, 7), first)
    for other in ((6, 2, 3), (5, 1, 3), (5, 2, 4)):
        assert not equal_batches(data.batch(*other, 7), first), other


@every_kind
def test_batches_are_deterministic(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    drawn = hashlib.sha256()
    for step in (0, 1, 2, 50):
        drawn.update(data.batch(3, 0, step, 5).ids.numpy().tobytes())
    fingerprints = {
        "blocks": "94c6e4ee5525",
        "contiguous": "814f21836362",
        "windows": "9c5fe6fac4b8",
        "sentences sentences": "2759d0b7e537",
        "sentences pairs": "a995d3f7d1cc",
        "prefixes sentences": "1d6a9434510c",
        "prefixes pairs": "fceeec8add58",
    }
    assert drawn.hexdigest()[:12] == fingerprints[" ".join(kind.values()) or "blocks"]


@every_kind
def test_targets_are_ids_shifted_by_one(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    batches = [data.batch(0, 0, 0, 7), data.full_training_batch(), *data.held_out_batches(), *data.training_sample(200)]
    for batch in batches:
        assert batch.ids.dtype == batch.targets.dtype == torch.int64
        assert batch.ids.is_contiguous() and batch.targets.is_contiguous()
        assert batch.ids.shape == batch.targets.shape
        if data.config.rows != "prefixes":
            there = slice(None) if batch.mask is None else batch.mask[:, 1:]
            assert (batch.ids[:, 1:] == batch.targets[:, :-1])[there].all()


@every_kind
def test_every_held_out_target_occurs_once_for_any_batch_size(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    whole = unmasked_targets(data, data.held_out_batches())
    assert len(whole) == data.held_out_targets
    for rows in (1, 3, 10_000):
        batches = list(data.held_out_batches(rows=rows))
        assert max(len(batch.ids) for batch in batches) <= rows
        assert unmasked_targets(data, batches) == whole


@every_kind
def test_a_sample_of_held_out_targets_is_fixed(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    whole, part = (
        unmasked_targets(data, data.held_out_batches()),
        list(data.held_out_batches(targets=data.held_out_targets // 4)),
    )
    assert len(unmasked_targets(data, part)) == pytest.approx(data.held_out_targets / 4, rel=0.3)
    assert not Counter(unmasked_targets(data, part)) - Counter(whole)
    assert all(
        equal_batches(*pair)
        for pair in zip(part, data.held_out_batches(targets=data.held_out_targets // 4), strict=True)
    )
    assert len(unmasked_targets(data, data.held_out_batches(targets=1))) >= 1
    assert unmasked_targets(data, data.held_out_batches(targets=10**9)) == whole


@settings(deadline=None)
@given(rows=st.integers(1, 500), targets=st.integers(1, 3_000), batch=st.integers(1, 60))
def test_sampled_rows_are_evenly_spaced(rows: int, targets: int, batch: int) -> None:
    batches = [part.tolist() for part in text_rows._evenly_spaced_rows(rows, 5 * rows, targets, batch)]
    positions = [position for part in batches for position in part]
    assert {len(part) for part in batches[:-1]} <= {batch}
    assert len(positions) == min(rows, max(1, round(targets / 5)))
    assert len({after - before for before, after in itertools.pairwise(positions)} | {rows // len(positions)}) <= 2
    assert positions[0] == 0
    assert rows - rows / len(positions) - 1 <= positions[-1] < rows  # the last gap is as large as the others


@every_kind
def test_a_sample_of_training_targets(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    part = list(data.training_sample(300, rows=4))
    assert len(unmasked_targets(data, part)) == pytest.approx(300, rel=0.3)
    assert all(len(batch.ids) <= 4 for batch in part)
    assert all(equal_batches(*pair) for pair in zip(part, data.training_sample(300, rows=4), strict=True))
    assert len(unmasked_targets(data, data.training_sample(10**9))) == data.training_targets


@every_kind
def test_rows_of_one_context_token(kind: dict[str, Any]) -> None:
    data = repeats(**kind | {"context": 1})
    assert data.batch(0, 0, 0, 3).ids.shape == (3, 1)
    assert len(unmasked_targets(data, data.held_out_batches())) == data.held_out_targets


@every_kind
def test_one_token_per_character(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    assert data.characters_per_token == 1
    assert data.unknown_rate == 0
    assert data.vocabulary == len(data.tokenizer.tokens)
    assert data.characters == 3_001


# Blocks


def test_blocks_of_a_worked_example() -> None:
    data = own(ALPHABET, context=4, held_out=0.1)
    (batch,) = data.held_out_batches()
    assert [read(data, row) for row in batch.targets] == ["3456", "789" + read(data, torch.tensor([data.padding]))]
    assert [read(data, row)[:3] for row in batch.ids] == ["234", "678"]  # the first one reads the last trained letter
    assert batch.mask is not None
    assert batch.mask.tolist() == [[True] * 4, [True] * 3 + [False]]
    assert (data.training_targets, data.held_out_targets, data.tokens) == (54, 7, 62)
    assert [read(data, part[0]) for part in data.full_training_batch()[:2]] == [ALPHABET[:54], ALPHABET[1:55]]
    assert data.full_training_batch().mask is None


def test_random_blocks_start_anywhere_in_the_training_part_only() -> None:
    data = own(ALPHABET, context=4, held_out=0.5)
    firsts: Counter[str] = Counter()
    for step in range(200):
        batch = data.batch(1, 0, step, 16)
        assert batch.mask is None
        for ids, target in zip(batch.ids, batch.targets, strict=True):
            first = ALPHABET.index(read(data, ids[:1]))
            assert read(data, ids) + read(data, target[-1:]) == ALPHABET[first : first + 5]
            firsts[ALPHABET[first]] += 1
    assert sorted(firsts) == sorted(ALPHABET[:27])  # 31 letters to learn from, five in a row
    assert max(firsts.values()) < 2 * min(firsts.values())


def test_random_blocks_reset_the_state() -> None:
    assert all(repeats().resets_state(step, 3) for step in range(9))


def test_steps_per_pass() -> None:
    data = own(ALPHABET, context=4, held_out=0.1)  # 54 targets
    assert [data.steps_per_pass(size) for size in (1, 2, 13, 14, 100)] == [14, 7, 2, 1, 1]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(20, 400),
    context=st.integers(1, 60),
    held_out=st.floats(0.05, 0.5),
    batch_rows=st.integers(1, 70),
    batch_size=st.integers(1, 40),
)
def test_blocks_of_any_size_cover_all_targets(
    size: int, context: int, held_out: float, batch_rows: int, batch_size: int
) -> None:
    """Every target occurs exactly once: in order, in held-out contiguous rows, in contiguous batches."""
    text = "".join(map(chr, range(0x4E00, 0x4E00 + size)))  # each character once
    cut = int((1 - held_out) * size)
    try:
        data = own(text, context=context, held_out=held_out, batches="contiguous")
    except TextError:
        assert cut - 1 < context
        return
    assert unmasked_targets(data, data.held_out_batches(rows=3)) == list(text[cut:])
    assert unmasked_targets(data, data.training_sample(10**9, rows=3)) == list(text[1:cut])
    assert unmasked_targets(data, [data.full_training_batch()]) == list(text[1:cut])
    blocks = list(data.held_out_contiguous(batch_rows, context))
    assert sorted(unmasked_targets(data, blocks)) == list(text[cut:])
    for before, after in itertools.pairwise(blocks):
        assert (before.targets[:, -1] == after.ids[:, 0])[after.mask[:, 0] if after.mask is not None else ...].all()
    if cut - 1 < batch_size:
        with pytest.raises(TextError, match="smaller batch"):
            data.batch(0, 0, 0, batch_size)
        return
    steps, first = data.steps_per_pass(batch_size), data.full_training_batch().ids[0, 0]
    for epoch in range(2):
        batches = [data.batch(3, 0, epoch * steps + step, batch_size) for step in range(steps)]
        drawn = unmasked_targets(data, batches)
        for batch in batches:
            assert (batch.targets == batch.ids + 1).all()  # each character is followed by the next one
        assert len(drawn) == len(set(drawn)) == steps * batch_size * batches[0].ids.shape[1]
        assert set(drawn) <= set(text[1:cut])
        assert [data.resets_state(epoch * steps + step, batch_size) for step in range(steps)] == [
            True,
            *[False] * (steps - 1),
        ]
        for before, after in itertools.pairwise(batches):
            contiguous = before.targets[:, -1] == after.ids[:, 0]
            assert contiguous.logical_or(after.ids[:, 0] == first).all()


def test_contiguous_passes_reach_every_target() -> None:
    data = own(ALPHABET, context=4, held_out=0.1, batches="contiguous")
    steps = data.steps_per_pass(5)
    begins = {read(data, data.batch(seed, 0, 0, 5).ids[0, :1]) for seed in range(600)}
    assert len(begins) == 54  # anywhere
    assert steps == 2  # 54 targets: five batch rows of ten, of which two blocks of four are read
    seen = unmasked_targets(data, (data.batch(0, 0, step, 5) for step in range(60 * steps)))
    assert set(seen) == set(ALPHABET[1:55])


def test_held_out_contiguous_of_a_worked_example() -> None:
    data = own(ALPHABET, context=4, held_out=0.2, batches="contiguous")  # the last 13 letters, 49 before them
    first, second = data.held_out_contiguous(3, 3)
    assert [read(data, row) for row in first.ids] == ["WXY", "123", "678"]
    assert [read(data, row) for row in first.targets] == ["XYZ", "234", "789"]
    assert second.mask is not None and second.mask.tolist() == [[True, True, False]] * 2 + [[False] * 3]
    assert read_masked(data, second) == "0156"
    assert unmasked_targets(data, data.held_out_contiguous(3, 3)) == list("XYZ" + "234" + "789" + "01" + "56")


def test_held_out_contiguous_with_a_target_limit() -> None:
    data = own(ALPHABET, context=4, held_out=0.5, batches="contiguous")  # 31 letters
    assert [len(batch.ids[0]) for batch in data.held_out_contiguous(4, 3, targets=20)] == [3, 3]
    assert len(unmasked_targets(data, data.held_out_contiguous(4, 3, targets=10**9))) == 31


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.get("split", "end") != "end"], ids=str)
def test_other_rows_cannot_be_read_contiguously(kind: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be read contiguously"):
        next(repeats(**kind).held_out_contiguous(4, 8))


# Windows


def test_held_out_windows_are_not_drawn_but_overlap_training() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    data = own(text, context=6, split="windows", held_out=0.2, split_seed=3)
    held_out = {row[0] for batch in data.held_out_batches() for row in (read(data, ids) for ids in batch.ids)}
    drawn = {read(data, ids)[0] for step in range(300) for ids in data.batch(0, 0, step, 9).ids}
    assert len(held_out) == data.held_out_rows == round(0.2 * 199 / 6)
    assert not held_out & drawn
    assert held_out | drawn == set(text[: 200 - 6])  # every window is one or the other
    learned = {target for step in range(300) for target in read_masked(data, data.batch(0, 0, step, 9))}
    assert set(unmasked_targets(data, data.held_out_batches())) <= learned  # the leak
    assert read(data, data.full_training_batch().targets[0]) == text[1:]


def test_held_out_windows_are_determined_by_the_split_seed() -> None:
    first, again, other = (
        repeats(split="windows", split_seed=seed, lower=lower) for seed, lower in ((1, False), (1, True), (2, False))
    )
    assert all(equal_batches(*pair) for pair in zip(first.held_out_batches(), again.held_out_batches(), strict=True))
    assert not equal_batches(next(first.held_out_batches()), next(other.held_out_batches()))


# Sentences


def rows_of(data: TextData, batch: Batch) -> list[str]:
    """Return the unmasked targets of each row."""
    assert batch.mask is not None
    return [read(data, row[mask]) for row, mask in zip(batch.targets, batch.mask, strict=True)]


def test_sentences_of_a_worked_example() -> None:
    data = sentences(split="sentences", context=36)
    lines = [line for line in LINES.split("\n") if len(line) > 20]
    assert len(lines) == 4
    held_out = [row for batch in data.held_out_batches() for row in rows_of(data, batch)]
    trained = [row for batch in data.training_sample(10**9) for row in rows_of(data, batch)]
    assert (len(trained), len(held_out)) == (2, 2)
    assert sorted(trained + held_out) == sorted(line[1:37] for line in lines)
    (batch,) = data.held_out_batches()
    for ids, row in zip(batch.ids, held_out, strict=True):
        (line,) = (line for line in lines if line[1:37] == row)
        assert read(data, ids) == line[:36] + data.tokenizer.tokens[data.padding] * (36 - len(line))
    order = torch.randperm(4, generator=Generator().manual_seed(0)).tolist()
    assert trained == [lines[i][1:37] for i in sorted(order[:2])]


def expected_pairs(data: TextData, lines: list[str], context: int) -> list[tuple[int, int]]:
    return [(i, j) for i, line in enumerate(lines) for j in range(min(len(data.tokenizer.encode(line)) - 1, context))]


@pytest.mark.parametrize("seed", [0, 42])
def test_pairs_are_split_like_random_split(seed: int) -> None:
    data = sentences(context=30, split_seed=seed, held_out=0.2)
    lines = [line for line in LINES.split("\n") if len(line) > 20]
    pairs = expected_pairs(data, lines, 30)
    sizes = [int(0.8 * len(pairs)), len(pairs) - int(0.8 * len(pairs))]
    trained, held_out = random_split(pairs, sizes, generator=Generator().manual_seed(seed))  # type: ignore[arg-type]
    assert (data.training_targets, data.held_out_targets) == (len(trained), len(held_out))

    def pairs_in(batches: Iterable[Batch], of: list[int]) -> set[tuple[int, int]]:
        masks = [row for batch in batches for row in batch.mask.tolist()]  # type: ignore[union-attr]
        return {(of[i], j) for i, row in enumerate(masks) for j, in_loss in enumerate(row) if in_loss}

    assert pairs_in(data.training_sample(10**9), [0, 1, 2, 3]) == set(trained)
    assert pairs_in(data.held_out_batches(), [0, 1, 2, 3]) == set(held_out)
    assert pairs_in([data.full_training_batch()], [0, 1, 2, 3]) == set(trained)


@pytest.mark.parametrize("rows", ["sentences", "prefixes"])
def test_every_pass_draws_each_row_once_in_a_new_order(rows: str) -> None:
    data = repeats(rows=rows, split="pairs")
    steps = data.steps_per_pass(7)
    assert steps == math.ceil(data.training_rows / 7)

    def drawn(passed: int) -> list[tuple[int, ...]]:
        batches = [data.batch(4, 0, passed * steps + step, 7) for step in range(steps)]
        assert {len(batch.ids) for batch in batches[:-1]} == {7}
        assert len(batches[-1].ids) == data.training_rows - 7 * (steps - 1)
        assert sum(len(read_masked(data, batch)) for batch in batches) == data.training_targets
        return [
            (*ids, *targets) for b in batches for ids, targets in zip(b.ids.tolist(), b.targets.tolist(), strict=True)
        ]

    first, second = drawn(0), drawn(1)
    assert first != second
    assert sorted(first) == sorted(second)


@pytest.mark.parametrize("split", ["sentences", "pairs"])
def test_prefixes_are_the_pairs_of_sentences_one_by_one(split: str) -> None:
    rows, prefixes = sentences(split=split, context=30), sentences(split=split, context=30, rows="prefixes")
    assert (rows.training_targets, rows.held_out_targets) == (prefixes.training_targets, prefixes.held_out_targets)
    for left, right in (
        (rows.held_out_batches(), prefixes.held_out_batches()),
        (rows.training_sample(10**9), prefixes.training_sample(10**9)),
    ):
        expected = [
            (ids[: place + 1].tolist(), int(targets[place]))
            for batch in left
            for ids, targets, mask in zip(*batch, strict=True)  # type: ignore[arg-type]
            for place in mask.nonzero().flatten().tolist()
        ]
        found = []
        for batch in right:
            assert batch.mask is not None
            assert batch.mask.tolist() == [[False] * 29 + [True]] * len(batch.mask)
            found += list(zip(batch.ids.tolist(), batch.targets[:, -1].tolist(), strict=True))
        assert found == [(ids + [prefixes.padding] * (30 - len(ids)), target) for ids, target in expected]
    assert equal_batches(rows.full_training_batch(), prefixes.full_training_batch())


def test_padding_is_that_of_the_tokenizer() -> None:
    data = sentences(tokenizer="bpe", vocabulary=60, context=50)
    assert data.padding == data.tokenizer.padding == 1
    for batch in data.held_out_batches():
        assert (batch.ids == 1).any()
        assert (batch.targets[batch.mask] != 1).all()


def test_lines_of_fewer_than_two_tokens_are_left_out() -> None:
    config = TextConfig(corpus="own", text=store_text(LINES), rows="sentences", split="sentences", held_out=0.4)
    made = token_arrays.load_tokens(config, LINES)
    lengths = made.arrays["lengths"].copy()
    lengths[2:] = 1
    short = token_arrays.Tokens(made.tokenizer, {**made.arrays, "lengths": lengths})
    for seed in range(9):
        data = text_rows.Sentences(replace(config, split_seed=seed), LINES, short)
        assert (data.training_rows, data.held_out_rows) == (1, 1)
    lengths[1] = 1
    with pytest.raises(TextError, match="Fewer than two lines of this text have two tokens"):
        text_rows.Sentences(config, LINES, short)


def test_the_full_training_batch_is_as_wide_as_its_longest_line() -> None:
    data = sentences(context=1_000)
    assert data.full_training_batch().ids.shape == (4, max(map(len, LINES.split("\n"))) - 1)


def test_a_too_large_full_training_batch_raises_one_sentence(monkeypatch: Patch) -> None:
    monkeypatch.setattr(text_rows, "_MAX_FULL_BATCH_IDS", 100)
    with pytest.raises(TextError, match=r"4 lines of up to 54 tokens are too many for one batch.* shorter context"):
        sentences(context=1_000).full_training_batch()


# Characters per token


def test_bits_per_character_include_dropped_spaces() -> None:
    text = "one two three four five six seven eight nine ten " * 20
    data = own(text, tokenizer="bpe", vocabulary=40, held_out=0.25, context=8)
    end = text[int(0.75 * len(text)) :]
    tokens = len(data.tokenizer.encode(end))
    assert data.characters_per_token == len(end) / tokens
    assert "".join(unmasked_targets(data, data.held_out_batches())).count(" ") < end.count(" ")


@pytest.mark.parametrize("kind", ["word", "bpe", "bytes"])
@pytest.mark.parametrize("split", ["sentences", "pairs"])
def test_bits_per_character_use_only_held_out_pairs(split: str, kind: str) -> None:
    data = sentences(tokenizer=kind, vocabulary=270, context=9, split=split)
    lines = [line for line in LINES.split("\n") if len(line) > 20]
    masks = dict(
        zip(data._held_out_rows.tolist(), [row for b in data.held_out_batches() for row in b.mask], strict=True)
    )  # type: ignore[attr-defined, union-attr]
    characters = 0
    for number, mask in masks.items():
        ends = [end for _, _, end in data.tokenizer.spans(lines[number])]
        characters += sum(ends[place + 1] - ends[place] for place in mask.nonzero().flatten().tolist())
    assert data.characters_per_token == characters / data.held_out_targets


def test_windows_use_the_characters_of_the_whole_text() -> None:
    text = "one two three four five six seven eight nine ten " * 20
    data = own(text, tokenizer="word", vocabulary=40, split="windows", context=8)
    assert data.characters_per_token == len(text) / len(data.tokenizer.encode(text))


def test_unknown_rate_is_that_of_held_out_targets() -> None:
    text = "red green blue " * 40 + "red green mauve " * 10
    data = own(text, tokenizer="word", vocabulary=40, held_out=0.2, context=8)
    end = data.tokenizer.encode(text[int(0.8 * len(text)) :])
    assert data.unknown_rate == pytest.approx((end == data.tokenizer.unknown).mean())
    assert 0.25 < data.unknown_rate < 0.4


# The test split


@every_kind
def test_a_test_split_changes_neither_training_nor_tokens(kind: dict[str, Any]) -> None:
    without, data = repeats(**kind), repeats(**kind, test=0.5)
    assert data.tokenizer.tokens == without.tokenizer.tokens
    assert equal_batches(data.full_training_batch(), without.full_training_batch())
    for step in range(3):
        assert equal_batches(data.batch(1, 0, step, 5), without.batch(1, 0, step, 5))


def text_data_parts(**settings: Any) -> tuple[TextData, TextData]:
    """Return the same rows with their validation and with their test split."""
    data = repeats(**settings)
    return data, text_data(data.config, "test")


@every_kind
def test_validation_and_test_split_are_together_what_is_held_out(kind: dict[str, Any]) -> None:
    everything = repeats(**kind)
    validation, test = text_data_parts(**kind, test=0.4)
    targets = [unmasked_targets(data, data.held_out_batches()) for data in (validation, test)]
    assert Counter("".join(itertools.chain(*targets))) == Counter(
        "".join(unmasked_targets(everything, everything.held_out_batches()))
    )
    assert validation.held_out_targets + test.held_out_targets == everything.held_out_targets
    assert test.held_out_targets / everything.held_out_targets == pytest.approx(0.4, abs=0.1)


def test_no_target_is_in_two_parts_of_a_stream() -> None:
    text = ALPHABET * 2
    settings: dict[str, Any] = {"held_out": 0.5, "test": 0.5, "context": 4}
    data = own(text, **settings)
    parts = [data, text_data(data.config, "test")]
    read_in = ["".join(unmasked_targets(each, each.held_out_batches())) for each in parts]
    assert "".join(read_in) == text[62:]
    assert len(read_in[0]) == 31
    assert read(data, data.full_training_batch().targets[0]) == text[1:62]


@pytest.mark.parametrize("split", ["sentences", "pairs"])
@pytest.mark.parametrize("rows", ["sentences", "prefixes"])
def test_no_target_is_in_two_parts_of_lines(rows: str, split: str) -> None:
    validation, test = text_data_parts(rows=rows, split=split, test=0.5)
    assert isinstance(validation, text_rows.Sentences) and isinstance(test, text_rows.Sentences)
    groups = [
        validation.training_positions.tolist(),
        validation.held_out_positions.tolist(),
        test.held_out_positions.tolist(),
    ]
    together = [position for group in groups for position in group]
    assert len(together) == len(set(together))
    assert test.training_positions.tolist() == groups[0]
    assert sorted(together) == sorted(
        np.concatenate(
            [repeats(rows=rows, split=split).training_positions, repeats(rows=rows, split=split).held_out_positions]
        ).tolist()  # type: ignore[attr-defined]
    )


def test_a_text_without_a_test_split_raises_one_sentence() -> None:
    for kind in KINDS:
        with pytest.raises(TextError, match=r"The test split (of|at the end of) this text"):
            text_data(repeats(**kind).config, "test")


# A tokenizer of training lines only


@pytest.mark.parametrize("kind", ["word", "bpe", "bytes"])
def test_the_tokenizer_of_training_lines_has_not_seen_the_held_out_ones(kind: str) -> None:
    words = [f"word{letter}{other}" for letter in string.ascii_lowercase for other in string.ascii_lowercase]
    lines = [" ".join([word] * 6) for word in words[:40]]  # all words of a line occur in no other line
    settings: Any = {"rows": "sentences", "split": "sentences", "tokenizer": kind, "vocabulary": 900}
    seen, unseen = (own("\n".join(lines), **settings, tokenizer_from_training=each) for each in (False, True))
    assert isinstance(unseen, text_rows.Sentences)
    if kind == "word":
        assert (seen.unknown_rate, unseen.unknown_rate) == (0.0, 1.0)
    else:
        assert len(unseen.tokenizer.tokens) < len(seen.tokenizer.tokens)


def test_the_same_lines_are_held_out_from_both_tokenizers() -> None:
    seen, unseen = (
        repeats(rows="sentences", split="sentences", tokenizer="word", tokenizer_from_training=each)
        for each in (False, True)
    )
    assert seen.held_out_rows == unseen.held_out_rows
    assert [len(rows.ids) for rows in seen.held_out_batches()] == [len(rows.ids) for rows in unseen.held_out_batches()]
    assert seen._held_out_rows.tolist() == unseen._held_out_rows.tolist()  # type: ignore[attr-defined]


# The assignment


@needs.tiny_shakespeare
def test_row_counts_of_the_assignment() -> None:
    data = text_data(TextConfig(**ASSIGNMENT, held_out=0.2, split_seed=42))
    assert (data.vocabulary, data.padding) == (500, 1)
    assert (data.training_targets, data.held_out_targets) == (251_663, 62_916)  # 314,579 pairs
    made = token_arrays.load_tokens(data.config, corpora.load_text(data.config))
    assert len(made.arrays["lengths"]) == 22_830
    loop = text_data(TextConfig(**ASSIGNMENT | {"rows": "prefixes"}, held_out=0.2, split_seed=42))
    assert (loop.steps_per_pass(64), math.ceil(loop.held_out_rows / 64)) == (3_933, 984)
    characters = text_data(TextConfig())
    assert (characters.training_targets, characters.held_out_targets) == (1_003_853, 111_540)


# Bad input


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
def test_a_text_shorter_than_the_context_raises_one_sentence(kind: str) -> None:
    with pytest.raises(TextError, match=r"training tokens; rows with this context need at least 65\."):
        own("To be, or not to be.", tokenizer=kind)


def test_the_shortest_text_works_with_a_short_context() -> None:
    data = own(validated_text("To be, or not to be."), context=2, held_out=0.01)
    assert unmasked_targets(data, data.held_out_batches()) == ["."]
    assert data.batch(0, 0, 0, 64).ids.shape == (64, 2)


def test_a_held_out_part_without_tokens_raises_one_sentence() -> None:
    with pytest.raises(TextError, match=r"The last 10% of this text hold no token .* hold out more"):
        own("word " * 20 + " " * 30, tokenizer="word", context=2)


def test_the_smallest_split_of_windows() -> None:
    data = own("To be, or not to be.", context=18, split="windows")
    assert (data.training_rows, data.held_out_rows) == (1, 1)
    with pytest.raises(TextError, match="20 training tokens; rows with this context need at least 22"):
        own("To be, or not to be.", context=20, split="windows")


@pytest.mark.parametrize("text", ["one single line that has just enough words", "no line here\nhas enough words\n" * 9])
def test_a_single_line_is_refused_for_sentences(text: str) -> None:
    with pytest.raises(TextError, match="at least two such lines"):
        own(text, rows="sentences", split="pairs")


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
def test_five_million_times_the_same_letter(kind: str) -> None:
    text = validated_text(b"x" * environment().most_corpus)
    try:
        data = own(text, tokenizer=kind)
    except TextError as error:
        assert "tokens to learn from" in str(error)
        assert kind == "word"  # there is a single one
    else:
        assert data.batch(0, 0, 0, 3).ids.shape == (3, 64)
        assert len(unmasked_targets(data, data.held_out_batches(targets=1_000))) >= 64


@pytest.mark.parametrize("kind", ["word", "bpe", "bytes"])
def test_a_vocabulary_larger_than_the_text_can_give(kind: str) -> None:
    data = own("the cat sat on the mat and the cat ate the rat " * 9, tokenizer=kind, vocabulary=20_000, context=4)
    assert 2 <= data.vocabulary < 500
    assert int(data.full_training_batch().ids.max()) < data.vocabulary


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
def test_right_to_left_and_emoji(kind: str) -> None:
    data = own(validated_text("שלום עולם 🙂👩‍👩‍👧 مرحبا بالعالم 🏳️‍🌈 " * 30), tokenizer=kind, context=5)
    assert data.batch(0, 0, 0, 2).ids.shape == (2, 5)
    assert data.characters_per_token > 0


# Sharing and caching


def test_rows_of_a_configuration_are_computed_once_and_shared(monkeypatch: Patch) -> None:
    trained = []
    train = token_arrays.train
    monkeypatch.setattr(token_arrays, "train", lambda *arguments: trained.append(arguments) or train(*arguments))
    config = TextConfig(corpus="own", text=store_text(ALPHABET), context=4)
    results: list[TextData] = []
    threads = [threading.Thread(target=lambda: results.append(text_data(config))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(trained) == 1
    assert len(set(map(id, results))) == 1
    text_data(TextConfig(corpus="own", text=config.text, context=5))
    assert len(trained) == 1  # the same tokens in other rows


def test_rows_from_the_cache_are_equal() -> None:
    config = TextConfig(corpus="brackets", size=2_003, context=5)
    first = text_data(config)
    token_arrays.reset()
    text_rows.reset()
    second = text_data(config)
    assert first is not second
    assert equal_batches(first.batch(1, 2, 3, 4), second.batch(1, 2, 3, 4))
    assert all(equal_batches(*pair) for pair in zip(first.held_out_batches(), second.held_out_batches(), strict=True))


def test_a_dropped_text_is_gone() -> None:
    config = TextConfig(corpus="own", text=store_text(ALPHABET), context=4)
    text_data(config)
    drop_text_data(config.text)
    with pytest.raises(NeedsText):
        text_data(config)


def test_rows_use_the_random_stream_of_their_seed_and_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[tuple[int, str]] = []

    def record_and_generate(seed: int, purpose: str) -> Generator:
        requested.append((seed, purpose))
        return generator(seed, purpose)

    monkeypatch.setattr(text_rows, "generator", record_and_generate)
    text_data(TextConfig(corpus="repeats", size=2_000, context=8)).batch(7, 2, 5, 3)
    assert requested == [(7, "rows/2/5")]


# The share of the training part that training reads


@every_kind
def test_a_share_of_the_training_part_leaves_tokens_and_held_out_part_as_they_are(kind: dict[str, Any]) -> None:
    everything, data = repeats(**kind), repeats(**kind, training_share=0.25)
    assert data.tokenizer.tokens == everything.tokenizer.tokens
    pairs = zip(data.held_out_batches(), everything.held_out_batches(), strict=True)
    assert all(equal_batches(one, other) for one, other in pairs)
    assert data.characters_per_token == everything.characters_per_token
    assert data.training_targets / everything.training_targets == pytest.approx(0.25, abs=0.04)
    assert data.steps_per_pass(2) / everything.steps_per_pass(2) == pytest.approx(0.25, abs=0.06)


@every_kind
def test_training_reads_the_start_of_the_training_part(kind: dict[str, Any]) -> None:
    """What a share reads is the beginning of what everything reads."""
    everything, data = repeats(**kind), repeats(**kind, training_share=0.25)
    read_part = "".join(unmasked_targets(data, [data.full_training_batch()]))
    whole = "".join(unmasked_targets(everything, [everything.full_training_batch()]))
    assert whole.startswith(read_part) and 0.2 < len(read_part) / len(whole) < 0.3


def test_random_blocks_of_a_share_stay_in_it() -> None:
    data = own(ALPHABET * 10, context=10, held_out=0.1, training_share=0.1)
    read_in = {letter for step in range(50) for letter in read(data, data.batch(0, 0, step, 4).ids.flatten())}
    assert read_in == set(ALPHABET[:55])  # of the 558 letters of the training part, without the last, which is a target


def test_a_share_shorter_than_the_context_raises_one_sentence() -> None:
    with pytest.raises(TextError, match=r"^This text has 5 training tokens; rows with this context need at least 21\."):
        own(ALPHABET * 2, context=20, held_out=0.5, training_share=0.08)
