from __future__ import annotations

import hashlib
from collections import Counter

import pytest
import torch

from explorer.tasks.dates import WAYS, DatesConfig, days, understood
from explorer.tasks.digits import CopyConfig, ReverseConfig
from explorer.tasks.pairs import Pairs, batch, beside, fresh_dates, fresh_digits, pairs
from explorer.tasks.translation import TranslationConfig, read_back, right_answer, said, source_tokens, target_tokens

CONFIGS = [ReverseConfig(), CopyConfig(longest=7, symbols=3), DatesConfig()]
NAMES = ["reverse", "copy", "dates"]


def fingerprint(drawn: Pairs) -> str:
    parts = (drawn.source, drawn.given, drawn.wanted, drawn.counted)
    return hashlib.sha256(b"".join(part.long().numpy().tobytes() for part in parts)).hexdigest()[:12]


def test_by_hand() -> None:
    found = pairs(ReverseConfig(), [[3, 1, 4], [5]], [[4, 1, 3], [5]])
    assert found.source.tolist() == [[3, 1, 4], [5, 10, 10]]
    assert found.given.tolist() == [[10, 4, 1, 3], [10, 5, 11, 11]]
    assert found.wanted.tolist() == [[4, 1, 3, 11], [5, 11, 11, 11]]
    assert found.counted.tolist() == [[True] * 4, [True, True, False, False]]


@pytest.mark.parametrize("config", CONFIGS, ids=NAMES)
def test_every_row_has_its_right_target(config: TranslationConfig) -> None:
    drawn = batch(config, 0, 0, 0, 64)
    asked = fresh_dates(config, 2) if isinstance(config, DatesConfig) else fresh_digits(config, [1, 9, 4], 2)
    eos = len(target_tokens(config)) - 1
    for found in (drawn, asked):
        for source, given, wanted, counted in zip(found.source, found.given, found.wanted, found.counted, strict=True):
            right = right_answer(config, [i for i in source.tolist() if i != len(source_tokens(config)) - 1])
            assert right is not None
            assert wanted[counted].tolist() == [*right, eos]
            assert given[counted].tolist() == [eos - 1, *right]
            assert set(given[~counted].tolist()) <= {eos}
            assert set(wanted[~counted].tolist()) <= {eos}


@pytest.mark.parametrize(
    ("config", "first", "asked"),
    list(
        zip(
            CONFIGS,
            ["fd1f186d43c6", "15bf4ae30fd6", "be105e895e54"],
            ["51ee95d6fc35", "a89db0ee306c", "1d33393b103a"],
            strict=True,
        )
    ),
    ids=NAMES,
)
def test_what_is_drawn_is_the_same_for_ever(config: TranslationConfig, first: str, asked: str) -> None:
    before = torch.get_rng_state()
    assert fingerprint(batch(config, 0, 0, 0, 16)) == first
    fresh = fresh_dates(config, 3) if isinstance(config, DatesConfig) else fresh_digits(config, [2, 5], 3)
    assert fingerprint(fresh) == asked
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("config", CONFIGS, ids=NAMES)
def test_every_seed_order_and_step_draws_its_own(config: TranslationConfig) -> None:
    drawn = {fingerprint(batch(config, *which, 16)) for which in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))}
    assert len(drawn) == 4


def test_every_length_comes_about_equally_often_in_each_batch() -> None:
    config = ReverseConfig()
    for size, few, many in ((40, 2, 2), (32, 1, 2), (10, 0, 1)):
        for step in range(20):
            lengths = (batch(config, 0, 0, step, size).source != 10).sum(dim=-1)
            counts = [Counter(lengths.tolist())[n] for n in range(1, 21)]
            assert min(counts) >= few and max(counts) <= many and sum(counts) == size
    often = Counter(n for step in range(400) for n in (batch(config, 1, 0, step, 3).source != 10).sum(dim=-1).tolist())
    assert set(often) == set(range(1, 21))


def test_days_that_are_asked_about_are_never_trained() -> None:
    config = DatesConfig()
    held_out = set(days(config)[1])
    for step in range(20):
        trained = {understood(read_back(config, row.tolist())).day for row in batch(config, 0, 0, step, 64).source}
        assert not trained & held_out
    asked = fresh_dates(config, 5)
    texts = [read_back(config, row.tolist()) for row in asked.source]
    assert {understood(text).day for text in texts} <= held_out
    assert len(texts) == 5 * len(WAYS)
    assert ["mon" in text or "," in text for text in texts[:5]].count(True) == 0  # the first way: "3 march 1997"
    assert said(config, asked.wanted[0].tolist()) == str(understood(texts[0]).day)


def test_batches_beside_each_other_keep_their_rows() -> None:
    config = ReverseConfig()
    one, other = (fresh_digits(config, [n], 2) for n in (2, 5))
    both = beside(config, [one, other])
    assert both.source.shape == (2, 2, 5) and both.given.shape == (2, 2, 6)
    assert both.source[0, :, 2:].unique().tolist() == [10]
    assert torch.equal(both.wanted[0, :, :3], one.wanted) and torch.equal(both.wanted[1], other.wanted)
    assert both.counted[0].sum(dim=-1).tolist() == [3, 3]
    assert beside(config, [one]) is one
    assert torch.equal(both.rows(1, 2).source, both.source[:, 1:2])
    mixed = fresh_digits(config, [2, 5], 2)
    assert mixed.rows(0, 2).given.shape == (2, 3) and mixed.rows(1, 3).given.shape == (2, 6)
    assert torch.equal(mixed.rows(0, 2).wanted, mixed.wanted[:2, :3])
