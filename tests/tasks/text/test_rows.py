from __future__ import annotations

import hashlib
import itertools
import string
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor
from torch.utils.data import random_split

from explorer.errors import NeedsText, TextError
from explorer.tasks.text import rows as text_rows
from explorer.tasks.text import token_arrays
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import store_text
from explorer.tasks.text.rows import Batch, TextData, Windows, drop_text_data, text_data

Patch = pytest.MonkeyPatch
ALPHABET = string.ascii_letters + string.digits  # 62 letters, each once: a letter names its place
LINES = """
The first line has seven words in it.
Too short.
And the second line has a few words more than that one.
Here are exactly six words, friend.
The fourth line is the last, and it has a comma.
"""
LONG_LINES = [line for line in LINES.split("\n") if len(line) > 20]


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    token_arrays.reset()
    text_rows.reset()


def own(text: str, **settings: Any) -> TextData:
    return text_data(TextConfig(corpus="own", text=store_text(text), **settings))


def sentences(**settings: Any) -> TextData:
    return own(LINES, **{"rows": "sentences", "split": "pairs", "held_out": 0.4} | settings)


def repeats(**settings: Any) -> TextData:
    return text_data(TextConfig(corpus="repeats", size=3_001, **{"context": 13, "held_out": 0.2} | settings))


def read(data: TextData, ids: Tensor) -> str:
    return "".join(data.tokenizer.tokens[i] for i in ids.tolist())


def unmasked_targets(data: TextData, batches: Iterable[Batch]) -> str:
    """Return every target in the loss."""
    parts = (batch.targets[... if batch.mask is None else batch.mask] for batch in batches)
    return "".join(read(data, part.flatten()) for part in parts)


def equal_batches(left: Batch, right: Batch) -> bool:
    masks = left.mask is None if right.mask is None else left.mask is not None and torch.equal(left.mask, right.mask)
    return torch.equal(left.ids, right.ids) and torch.equal(left.targets, right.targets) and masks


def equal_held_out(left: TextData, right: TextData) -> bool:
    pairs = itertools.zip_longest(left.held_out_batches(), right.held_out_batches())
    return all(equal_batches(*pair) for pair in pairs)


# The settings of a kind of rows, and a fingerprint of some training batches.
KINDS: dict[str, dict[str, Any]] = {
    "94c6e4ee5525": {},
    "814f21836362": {"batches": "contiguous"},
    "9c5fe6fac4b8": {"split": "windows"},
    "2759d0b7e537": {"rows": "sentences", "split": "sentences"},
    "a995d3f7d1cc": {"rows": "sentences", "split": "pairs"},
    "1d6a9434510c": {"rows": "prefixes", "split": "sentences"},
    "fceeec8add58": {"rows": "prefixes", "split": "pairs"},
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: " ".join(kind.values()) or "blocks")


@pytest.mark.parametrize(("fingerprint", "kind"), KINDS.items())
def test_a_batch_is_determined_by_its_arguments(fingerprint: str, kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    first = data.batch(5, 2, 3, 7)
    for other in ((6, 2, 3), (5, 1, 3), (5, 2, 4)):
        assert not equal_batches(data.batch(*other, 7), first), other
    assert equal_batches(data.batch(5, 2, 3, 7), first)
    drawn = hashlib.sha256()
    for step in (0, 1, 2, 50):
        drawn.update(data.batch(3, 0, step, 5).ids.numpy().tobytes())
    assert drawn.hexdigest()[:12] == fingerprint


@every_kind
def test_targets_are_ids_shifted_by_one_and_each_occurs_once(kind: dict[str, Any]) -> None:
    data = repeats(**kind)
    batches = [data.batch(0, 0, 0, 7), data.full_training_batch(), *data.held_out_batches(), *data.training_sample(200)]
    for batch in batches:
        assert batch.ids.dtype == batch.targets.dtype == torch.int64
        if data.config.rows != "prefixes":
            there = slice(None) if batch.mask is None else batch.mask[:, 1:]
            assert (batch.ids[:, 1:] == batch.targets[:, :-1])[there].all()
    whole = unmasked_targets(data, data.held_out_batches())
    assert len(whole) == data.held_out_targets
    for rows in (3, 10_000):
        batches = list(data.held_out_batches(rows=rows))
        assert max(len(batch.ids) for batch in batches) <= rows
        assert unmasked_targets(data, batches) == whole
    assert len(unmasked_targets(data, data.training_sample(10**9))) == data.training_targets
    sample = list(data.training_sample(300, rows=4))
    assert len(unmasked_targets(data, sample)) == pytest.approx(300, rel=0.3)
    assert all(len(batch.ids) <= 4 for batch in sample)
    assert (data.characters_per_token, data.unknown_rate, data.characters) == (1, 0, 3_001)


def test_blocks_of_worked_examples() -> None:
    data = own(ALPHABET, context=4, held_out=0.1)
    (batch,) = data.held_out_batches()
    assert [read(data, row) for row in batch.targets] == ["3456", "789" + read(data, torch.tensor([data.padding]))]
    assert [read(data, row)[:3] for row in batch.ids] == ["234", "678"]  # the first one reads the last trained letter
    assert batch.mask is not None
    assert batch.mask.tolist() == [[True] * 4, [True] * 3 + [False]]
    assert (data.training_targets, data.held_out_targets, data.tokens) == (54, 7, 62)
    assert [read(data, part[0]) for part in data.full_training_batch()[:2]] == [ALPHABET[:54], ALPHABET[1:55]]
    assert data.full_training_batch().mask is None
    assert [data.steps_per_pass(size) for size in (1, 2, 13, 14, 100)] == [14, 7, 2, 1, 1]
    assert own(ALPHABET, context=4, held_out=0.1, batches="contiguous").steps_per_pass(5) == 2  # blocks in rows of ten
    assert all(data.resets_state(step, 3) for step in range(9))
    data = own(ALPHABET, context=4, held_out=0.5)  # the last 31 letters, in 8 rows
    for targets, firsts in ((1, "F"), (12, "FNZ"), (16, "FNV3"), (31, "FJNRVZ37"), (None, "FJNRVZ37")):
        batches = list(data.held_out_batches(targets, rows=3))
        assert "".join(read(data, batch.targets[:, 0]) for batch in batches) == firsts
        assert [len(batch.ids) for batch in batches] == [len(firsts[i : i + 3]) for i in range(0, len(firsts), 3)]
    data = own(ALPHABET * 10, context=10, held_out=0.1, training_share=0.1)
    read_in = {letter for step in range(50) for letter in read(data, data.batch(0, 0, step, 4).ids.flatten())}
    assert read_in == set(ALPHABET[:55])  # of the 558 letters of the training part, without the last, which is a target


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(20, 300), st.integers(1, 60), st.floats(0.05, 0.5), st.integers(1, 70), st.integers(1, 40))
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
    assert unmasked_targets(data, data.held_out_batches(rows=3)) == text[cut:]
    assert unmasked_targets(data, data.training_sample(10**9, rows=3)) == text[1:cut]
    assert unmasked_targets(data, [data.full_training_batch()]) == text[1:cut]
    blocks = list(data.held_out_contiguous(batch_rows, context))
    assert sorted(unmasked_targets(data, blocks)) == list(text[cut:])
    for before, after in itertools.pairwise(blocks):
        assert (before.targets[:, -1] == after.ids[:, 0])[after.mask[:, 0] if after.mask is not None else ...].all()
    if cut - 1 < batch_size:
        with pytest.raises(TextError, match="smaller batch"):
            data.batch(0, 0, 0, batch_size)
        return
    steps, first = data.steps_per_pass(batch_size), data.full_training_batch().ids[0, 0]
    batches = [data.batch(3, 0, steps + step, batch_size) for step in range(steps)]
    drawn = unmasked_targets(data, batches)
    for batch in batches:
        assert (batch.targets == batch.ids + 1).all()  # each character is followed by the next one
    assert len(drawn) == len(set(drawn)) == steps * batch_size * batches[0].ids.shape[1]
    assert set(drawn) <= set(text[1:cut])
    assert [data.resets_state(steps + step, batch_size) for step in range(steps)] == [True] + [False] * (steps - 1)
    for before, after in itertools.pairwise(batches):
        contiguous = before.targets[:, -1] == after.ids[:, 0]
        assert contiguous.logical_or(after.ids[:, 0] == first).all()


def test_held_out_contiguous_of_a_worked_example() -> None:
    data = own(ALPHABET, context=4, held_out=0.2, batches="contiguous")  # the last 13 letters, 49 before them
    first, second = data.held_out_contiguous(3, 3)
    assert [read(data, row) for row in first.ids] == ["WXY", "123", "678"]
    assert [read(data, row) for row in first.targets] == ["XYZ", "234", "789"]
    assert second.mask is not None and second.mask.tolist() == [[True, True, False]] * 2 + [[False] * 3]
    assert unmasked_targets(data, [second]) == "0156"
    larger = own(ALPHABET, context=4, held_out=0.5, batches="contiguous")  # 31 letters
    assert [len(batch.ids[0]) for batch in larger.held_out_contiguous(4, 3, targets=20)] == [3, 3]
    assert len(unmasked_targets(larger, larger.held_out_contiguous(4, 3, targets=10**9))) == 31
    for kind in ({"split": "windows"}, {"rows": "sentences", "split": "pairs"}):
        with pytest.raises(ValueError, match="cannot be read contiguously"):
            next(repeats(**kind).held_out_contiguous(4, 8))


def test_held_out_windows_are_not_drawn_but_overlap_training() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    data = own(text, context=6, split="windows", held_out=0.2, split_seed=3)
    held_out = {row[0] for batch in data.held_out_batches() for row in (read(data, ids) for ids in batch.ids)}
    batches = [data.batch(0, 0, step, 90) for step in range(30)]
    drawn = {read(data, ids)[0] for batch in batches for ids in batch.ids}
    assert len(held_out) == data.held_out_rows == round(0.2 * 199 / 6)
    assert not held_out & drawn
    assert held_out | drawn == set(text[: 200 - 6])  # every window is one or the other
    learned = set(unmasked_targets(data, batches))
    assert set(unmasked_targets(data, data.held_out_batches())) <= learned  # the leak
    assert read(data, data.full_training_batch().targets[0]) == text[1:]
    assert not equal_held_out(data, text_data(replace(data.config, split_seed=4)))
    data = own("To be, or not to be.", context=18, split="windows")
    assert (data.training_rows, data.held_out_rows) == (1, 1)
    with pytest.raises(TextError, match="20 training tokens; rows with this context need at least 22"):
        own("To be, or not to be.", context=20, split="windows")


def rows_of(data: TextData, batch: Batch) -> list[str]:
    """Return the unmasked targets of each row."""
    assert batch.mask is not None
    return [read(data, row[mask]) for row, mask in zip(batch.targets, batch.mask, strict=True)]


def test_sentences_of_a_worked_example() -> None:
    data = sentences(split="sentences", context=36)
    held_out = [row for batch in data.held_out_batches() for row in rows_of(data, batch)]
    trained = [row for batch in data.training_sample(10**9) for row in rows_of(data, batch)]
    assert (len(trained), len(held_out)) == (2, 2)
    assert [data.steps_per_pass(size) for size in (1, 2, 3)] == [2, 1, 1]
    assert sorted(trained + held_out) == sorted(line[1:37] for line in LONG_LINES)
    (batch,) = data.held_out_batches()
    for ids, row in zip(batch.ids, held_out, strict=True):
        (line,) = (line for line in LONG_LINES if line[1:37] == row)
        assert read(data, ids) == line[:36] + data.tokenizer.tokens[data.padding] * (36 - len(line))
    order = torch.randperm(4, generator=Generator().manual_seed(0)).tolist()
    assert trained == [LONG_LINES[i][1:37] for i in sorted(order[:2])]


@pytest.mark.parametrize("seed", [0, 42])
def test_pairs_are_split_like_random_split(seed: int) -> None:
    data = sentences(context=30, split_seed=seed, held_out=0.2)
    pairs = [(i, j) for i, line in enumerate(LONG_LINES) for j in range(min(len(line) - 1, 30))]
    sizes = [int(0.8 * len(pairs)), len(pairs) - int(0.8 * len(pairs))]
    trained, held_out = random_split(pairs, sizes, generator=Generator().manual_seed(seed))  # type: ignore[arg-type]
    assert (data.training_targets, data.held_out_targets) == (len(trained), len(held_out))

    def pairs_in(batches: Iterable[Batch]) -> set[tuple[int, int]]:
        masks = [row for batch in batches for row in batch.mask.tolist()]  # type: ignore[union-attr]
        return {(i, j) for i, row in enumerate(masks) for j, in_loss in enumerate(row) if in_loss}

    assert pairs_in(data.training_sample(10**9)) == set(trained)
    assert pairs_in(data.held_out_batches()) == set(held_out)
    assert pairs_in([data.full_training_batch()]) == set(trained)


@pytest.mark.parametrize("split", ["sentences", "pairs"])
def test_prefixes_are_the_pairs_of_sentences_one_by_one(split: str) -> None:
    rows, prefixes = sentences(split=split, context=30), sentences(split=split, context=30, rows="prefixes")
    assert (rows.training_targets, rows.held_out_targets) == (prefixes.training_targets, prefixes.held_out_targets)
    parts = [[each.held_out_batches(), each.training_sample(10**9)] for each in (rows, prefixes)]
    for left, right in zip(*parts, strict=True):
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


def test_the_full_training_batch_is_as_wide_as_its_longest_line(monkeypatch: Patch) -> None:
    data = sentences(context=1_000)
    assert data.full_training_batch().ids.shape == (4, max(map(len, LONG_LINES)) - 1)
    monkeypatch.setattr(text_rows, "_MAX_FULL_BATCH_IDS", 4 * 54)
    data.full_training_batch()
    monkeypatch.setattr(text_rows, "_MAX_FULL_BATCH_IDS", 4 * 54 - 1)
    with pytest.raises(TextError, match=r"4 lines of up to 54 tokens are too many for one batch.* shorter context"):
        data.full_training_batch()


def test_characters_per_token_count_dropped_spaces_and_unknown_tokens() -> None:
    text = "one two three four five six seven eight nine ten " * 20
    data = own(text, tokenizer="bpe", vocabulary=40, held_out=0.25, context=8)
    end = text[int(0.75 * len(text)) :]
    assert data.characters_per_token == len(end) / len(data.tokenizer.encode(end))
    assert "".join(unmasked_targets(data, data.held_out_batches())).count(" ") < end.count(" ")
    windows = own(text, tokenizer="word", vocabulary=40, split="windows", context=8)
    assert windows.characters_per_token == len(text) / len(windows.tokenizer.encode(text))
    colours = "red green blue " * 40 + "red green mauve " * 10
    data = own(colours, tokenizer="word", vocabulary=40, held_out=0.2, context=8)
    ids = data.tokenizer.encode(colours[int(0.8 * len(colours)) :])
    assert data.unknown_rate == pytest.approx((ids == data.tokenizer.unknown).mean())
    assert 0.25 < data.unknown_rate < 0.4


@pytest.mark.parametrize("kind", ["word", "bpe", "bytes"])
@pytest.mark.parametrize("split", ["sentences", "pairs"])
def test_bits_per_character_use_only_held_out_pairs(split: str, kind: str) -> None:
    data = sentences(tokenizer=kind, vocabulary=270, context=9, split=split)
    masks = [row for b in data.held_out_batches() for row in b.mask]  # type: ignore[union-attr]
    characters = 0
    for number, mask in zip(data._held_out_rows.tolist(), masks, strict=True):  # type: ignore[attr-defined]
        ends = [end for _, _, end in data.tokenizer.spans(LONG_LINES[number])]
        characters += sum(ends[place + 1] - ends[place] for place in mask.nonzero().flatten().tolist())
    assert data.characters_per_token == characters / data.held_out_targets


@every_kind
def test_validation_and_test_split_are_together_what_is_held_out(kind: dict[str, Any]) -> None:
    everything, validation = repeats(**kind), repeats(**kind, test=0.4)
    test = text_data(validation.config, "test")
    assert equal_batches(validation.full_training_batch(), everything.full_training_batch())
    assert equal_batches(validation.batch(1, 0, 2, 5), everything.batch(1, 0, 2, 5))
    targets = [Counter(unmasked_targets(data, data.held_out_batches())) for data in (validation, test, everything)]
    assert targets[0] + targets[1] == targets[2]
    assert validation.held_out_targets + test.held_out_targets == everything.held_out_targets
    assert test.held_out_targets / everything.held_out_targets == pytest.approx(0.4, abs=0.1)
    with pytest.raises(TextError, match=r"The test split (of|at the end of) this text"):
        text_data(everything.config, "test")


@pytest.mark.parametrize("kind", ["word", "bpe", "bytes"])
def test_the_tokenizer_of_training_lines_has_not_seen_the_held_out_ones(kind: str) -> None:
    words = [f"word{letter}{other}" for letter in string.ascii_lowercase for other in string.ascii_lowercase]
    lines = [" ".join([word] * 6) for word in words[:40]]  # all words of a line occur in no other line
    settings: Any = {"rows": "sentences", "split": "sentences", "tokenizer": kind, "vocabulary": 900}
    seen, unseen = (own("\n".join(lines), **settings, tokenizer_from_training=each) for each in (False, True))
    assert seen._held_out_rows.tolist() == unseen._held_out_rows.tolist()  # type: ignore[attr-defined]
    assert len(unseen.tokenizer.tokens) < len(seen.tokenizer.tokens)
    if kind == "word":
        assert (seen.unknown_rate, unseen.unknown_rate) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("To be, or not to be.", {}, r"training tokens; rows with this context need at least 65\."),
        (ALPHABET * 2, {"context": 20, "held_out": 0.5, "training_share": 0.08}, "^This text has 5 training .* 21"),
        ("word " * 20 + " " * 30, {"tokenizer": "word", "context": 2}, "last 10% .* hold no token .* hold out more"),
        ("one single line that has just enough words", {"rows": "sentences", "split": "pairs"}, "two such lines"),
        ("no line here\nhas enough words\n" * 9, {"rows": "sentences", "split": "pairs"}, "two such lines"),
    ],
)
def test_a_text_that_is_too_short_raises_one_sentence(text: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TextError, match=message):
        own(text, **settings)


def test_rows_of_a_configuration_are_computed_once_and_can_be_dropped() -> None:
    config = TextConfig(corpus="own", text=store_text(ALPHABET), context=4)
    assert text_data(config) is text_data(config)
    drop_text_data(config.text)
    with pytest.raises(NeedsText):
        text_data(config)


@every_kind
def test_a_share_of_the_training_part_is_its_start(kind: dict[str, Any]) -> None:
    everything, data = repeats(**kind), repeats(**kind, training_share=0.25)
    assert equal_held_out(data, everything)
    assert data.characters_per_token == everything.characters_per_token
    assert data.training_targets / everything.training_targets == pytest.approx(0.25, abs=0.04)
    assert data.steps_per_pass(2) / everything.steps_per_pass(2) == pytest.approx(0.25, abs=0.06)
    read_part, whole = (unmasked_targets(each, [each.full_training_batch()]) for each in (data, everything))
    assert whole.startswith(read_part) and 0.2 < len(read_part) / len(whole) < 0.3


def test_the_overlap_is_the_share_of_held_out_targets_that_training_reads() -> None:
    assert isinstance(usual := repeats(split="windows", held_out=0.5), Windows) and usual.overlap == 1
    short = own(ALPHABET, split="windows", context=2, held_out=0.5, training_share=0.5)
    assert isinstance(short, Windows)
    trained = read(short, short._read_rows(np.arange(short.training_rows), False).targets.flatten())
    held_out = [letter for batch in short.held_out_batches() for letter in read(short, batch.targets.flatten())]
    assert short.overlap == pytest.approx(np.mean([letter in trained for letter in held_out])) != 1
