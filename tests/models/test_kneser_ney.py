"""The n-gram against a plain implementation with dictionaries, written from the formula."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Literal

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Generator, Tensor

from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram, distinct, modified_discounts

START = "start"
Gram = tuple[object, ...]
Smoothing = Literal["kneser_ney", "modified_kneser_ney", "stupid_backoff"]
SMOOTHINGS: tuple[Smoothing, ...] = ("kneser_ney", "modified_kneser_ney", "stupid_backoff")


class Reference:
    """The smoothings, token by token: slow, but close to the formulas."""

    def __init__(
        self,
        rows: list[list[int]],
        loss_mask: list[list[bool]],
        order: int,
        vocabulary: int,
        smoothing: Smoothing = "kneser_ney",
    ) -> None:
        """Count n-grams. A row is a text; `loss_mask` selects which of its tokens after the first are counted."""
        self.order, self.vocabulary, self.smoothing = order, vocabulary, smoothing
        self.counts: dict[Gram, int] = Counter()
        neighbours: dict[Gram, set[object]] = defaultdict(set)
        for row, row_mask in zip(rows, loss_mask, strict=True):
            for t in range(1, len(row)):
                if row_mask[t - 1]:
                    for length in range(1, min(order, t + 1) + 1):
                        gram = tuple(row[t - length + 1 : t + 1])
                        if length == order or smoothing == "stupid_backoff":
                            self.counts[gram] += 1
                        else:
                            neighbours[gram].add(row[t - length] if length <= t else START)
        for gram, left_neighbours in neighbours.items():
            self.counts[gram] = len(left_neighbours)
        self.after: dict[Gram, dict[object, int]] = defaultdict(dict)
        for gram, count in self.counts.items():
            self.after[gram[:-1]][gram[-1]] = count
        self.discounts = [self.discount(self.grams(length)) for length in range(1, order + 1)]

    def grams(self, order: int) -> list[int]:
        return [count for gram, count in self.counts.items() if len(gram) == order]

    def discount(self, counts: list[int]) -> list[float]:
        """Return the discounts of the counts 0, 1, 2, and 3 or more."""
        n1, n2, n3, n4 = (counts.count(count) for count in (1, 2, 3, 4))
        if self.smoothing == "kneser_ney":
            d = n1 / (n1 + 2 * n2) if n1 and n2 else 0.5
            return [0, d, d, d]
        if n1 and n2 and n3 and n4:
            y = n1 / (n1 + 2 * n2)
            three = [0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3]
            if min(three[1:]) > 0:
                return three
        return [0, 0.5, 1, 1.5]

    def p(self, token: int, context: Gram) -> float:
        """Return the probability of a token after a context, of which at most order - 1 tokens are used."""
        context = context[max(0, len(context) - self.order + 1) :]
        if self.smoothing == "stupid_backoff":
            return self.score(token, context) / sum(self.score(each, context) for each in range(self.vocabulary))
        shorter = self.p(token, context[1:]) if context else 1 / self.vocabulary
        after = self.after.get(context)
        if not after:
            return shorter
        total, discounts = sum(after.values()), self.discounts[len(context)]
        removed = {each: discounts[min(count, 3)] for each, count in after.items()}
        seen = after[token] - removed[token] if token in after else 0
        return seen / total + sum(removed.values()) / total * shorter

    def score(self, token: int, context: Gram) -> float:
        """Return the score of Brants et al. (2007), which is not a probability."""
        after = self.after.get(context, {})
        if token in after:
            return after[token] / sum(after.values())
        shorter = self.score(token, context[1:]) if context else 1 / self.vocabulary
        return 0.4 * shorter if after else shorter


def cached_p(p: float, read: list[int], token: int, weight: float, order: int, vocabulary: int) -> float:
    """Return p mixed with the cache, an n-gram by Witten-Bell of the tokens read; the first is context only."""
    cached = 1 / vocabulary
    for length in range(min(order, len(read))):
        context = read[len(read) - length :]
        after = [read[i] for i in range(max(1, length), len(read)) if read[i - length : i] == context]
        if after:
            kinds = len(set(after))
            cached = (after.count(token) + kinds * cached) / (len(after) + kinds)
    return (1 - weight) * p + weight * cached


def ngram(order: int, vocabulary: int, smoothing: Smoothing = "kneser_ney", cache: float = 0.0) -> Ngram:
    return Ngram(NgramTextConfig(order, smoothing, cache), vocabulary, 64, Generator())


def fit_ngram(
    rows: list[list[int]],
    order: int,
    vocabulary: int,
    loss_mask: list[list[bool]] | None = None,
    smoothing: Smoothing = "kneser_ney",
    cache: float = 0.0,
) -> Ngram:
    model = ngram(order, vocabulary, smoothing, cache)
    text = torch.tensor(rows)
    model.fit(text[:, :-1], text[:, 1:], None if loss_mask is None else torch.tensor(loss_mask))
    return model


def random_text(vocabulary: int, length: int, seed: int = 1) -> list[int]:
    """Return a text with few different contexts, some frequent and some rare."""
    uniform = torch.rand(length, generator=Generator().manual_seed(seed))
    return (uniform**2 * vocabulary).long().tolist()


Case = tuple[list[list[int]], list[list[bool]], list[list[int]], int, int, Smoothing, float]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Rows to count, their loss masks, rows to score, order, vocabulary, smoothing, weight of the cache."""
    vocabulary, length, count = draw(st.integers(1, 5)), draw(st.integers(2, 40)), draw(st.integers(1, 4))
    token = st.integers(0, vocabulary - 1)
    rows = st.lists(st.lists(token, min_size=length, max_size=length), min_size=count, max_size=count)
    mask = st.lists(st.booleans() if draw(st.booleans()) else st.just(True), min_size=length - 1, max_size=length - 1)
    loss_mask = draw(st.lists(mask, min_size=count, max_size=count))
    smoothing, cache = draw(st.sampled_from(SMOOTHINGS)), draw(st.sampled_from([0.0, 0.3]))
    return draw(rows), loss_mask, draw(rows), draw(st.integers(1, 8)), vocabulary, smoothing, cache


@given(cases())
@example(([[0, 0]], [[False]], [[0, 1]], 6, 2, "kneser_ney", 0.0))  # the loss mask excludes everything
@example(([[0, 0]], [[False]], [[0, 1]], 6, 2, "stupid_backoff", 0.3))
@example(([[0] * 30], [[True] * 29], [[0] * 30], 6, 2, "kneser_ney", 0.0))  # one letter; another never occurs
@example(([[0] * 30], [[True] * 29], [[0] * 30], 8, 2, "modified_kneser_ney", 0.3))
@settings(max_examples=30, deadline=None)
def test_equals_the_formula(case: Case) -> None:
    rows, loss_mask, others, order, vocabulary, smoothing, cache = case
    model = fit_ngram(rows, order, vocabulary, loss_mask, smoothing, cache)
    reference = Reference(rows, loss_mask, order, vocabulary, smoothing)
    assert model.entries == tuple(len(reference.grams(length)) for length in range(1, order + 1))

    def p(read: list[int], token: int) -> float:
        return cached_p(reference.p(token, tuple(read)), read, token, cache, order, vocabulary)

    for scored in (rows, others):
        ids = torch.tensor(scored)
        expected = torch.tensor(
            [[[p(row[:t], w) for w in range(vocabulary)] for t in range(1, len(row))] for row in scored],
            dtype=torch.float64,
        ).log()
        torch.testing.assert_close(model(ids[:, :-1]).double(), expected, atol=2e-6, rtol=2e-6)
        target_surprisal = -expected.gather(-1, ids[:, 1:, None]).squeeze(-1)
        torch.testing.assert_close(
            model.surprisal(ids[:, :-1], ids[:, 1:]).double(), target_surprisal, atol=2e-6, rtol=2e-6
        )


def test_worked_by_hand() -> None:
    # abcab: the bigrams ab twice, bc and ca once: n1 = 2, n2 = 1, D = 1/2. Single tokens: each of the three has one
    # neighbour, so n2 = 0, D = 1/2, and all are as likely: (1 - 1/2) / 3 + 1/2 * 1/3 = 1/3.
    model = fit_ngram([[0, 1, 2, 0, 1]], 2, 3)
    assert model.entries == (3, 3)
    assert model.discounts == ((0.5,), (0.5,))
    after_a = model(torch.tensor([[0]]))[0, 0].exp()
    torch.testing.assert_close(after_a, torch.tensor([1 / 12, 1.5 / 2 + 1 / 12, 1 / 12]))


def test_modified_kneser_ney_worked_by_hand() -> None:
    # Single tokens. Rows hold one token after token 0: token 1 once, 2 twice, and so on to 5.
    # n1 = n2 = n3 = n4 = 1: Y = 1/3, D1 = 1/3, D2 = 2 - 3 Y = 1, D3 = 3 - 4 Y = 5/3. The total is 15, the discounts sum
    # to 1/3 + 1 + 3 * 5/3 = 19/3, and each of the 6 tokens has 1/6 of that mass.
    rows = [[0, token] for token in range(1, 6) for _ in range(token)]
    model = fit_ngram(rows, 1, 6, smoothing="modified_kneser_ney")
    assert model.discounts == (pytest.approx((1 / 3, 1, 5 / 3)),)
    rest = 19 / 3 / 15 / 6
    expected = [rest, *(kept / 15 + rest for kept in (2 / 3, 1, 4 / 3, 7 / 3, 10 / 3))]
    torch.testing.assert_close(model(torch.tensor([[0]]))[0, 0].exp(), torch.tensor(expected))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((1, 1, 1, 1), (1 / 3, 1, 5 / 3)),
        ((8, 4, 2, 0), (0.5, 1, 1.5)),  # no count of 4
        ((9, 1, 9, 1), (0.5, 1, 1.5)),  # the second discount would be negative
    ],
)
def test_discounts_of_too_few_grams_have_fixed_values(numbers: tuple[int, ...], expected: tuple[float, ...]) -> None:
    assert modified_discounts(numbers) == pytest.approx(expected)


def test_reading_on_keeps_the_cache_over_rows_but_not_the_context() -> None:
    text, weight = random_text(5, 61, seed=2), 0.4
    model, without = (fit_ngram([random_text(5, 400)], 4, 5, cache=cache) for cache in (weight, 0.0))
    ids, targets = torch.tensor([text[:-1]]), torch.tensor([text[1:]])
    torch.testing.assert_close(model.surprisal_reading_on(ids, targets), model.surprisal(ids, targets)[0])
    # At the start of a row the context is one token; the cache has the earlier rows.
    p = model.surprisal_reading_on(ids.view(6, 10), targets.view(6, 10)).neg().exp()
    static = without.surprisal(ids.view(6, 10), targets.view(6, 10)).flatten().neg().exp()
    cached, seen = 1 / 5, [text[i + 1] for i in range(50)]
    for after in (seen, [text[i + 1] for i in range(50) if text[i] == text[50]]):
        cached = (after.count(text[51]) + len(set(after)) * cached) / (len(after) + len(set(after)))
    assert p[50].item() == pytest.approx((1 - weight) * static[50].item() + weight * cached, rel=1e-5)


def test_reading_on_leaves_out_masked_targets() -> None:
    model = fit_ngram([random_text(5, 400)], 3, 5, cache=0.4)
    ids = torch.tensor([[0, 1, 2, 3], [0, 1, 4, 4], [0, 1, 2, 3]])
    targets = torch.tensor([[1, 2, 3, 4], [1, 4, 4, 4], [1, 2, 3, 0]])
    mask = torch.tensor([[True] * 4, [False] * 4, [True] * 4])
    torch.testing.assert_close(
        model.surprisal_reading_on(ids, targets, mask), model.surprisal_reading_on(ids[::2], targets[::2])
    )


@pytest.mark.parametrize("cache", [0.0, 0.3])
@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("time", [1, 2, 30])
def test_next_logits_are_those_of_the_last_position(order: int, time: int, cache: float) -> None:
    model = fit_ngram([random_text(5, 400)], order, 6, cache=cache)
    ids = torch.tensor([random_text(5, time, seed=seed) for seed in range(4)], dtype=torch.int32)
    torch.testing.assert_close(model.next_logits(ids), model(ids)[:, -1])
    torch.testing.assert_close(model.next_logits(ids[2]), model(ids[2])[-1])
    empty = torch.zeros(0, dtype=torch.int64)
    torch.testing.assert_close(model.next_logits(empty), model(torch.tensor([5]))[-1])  # 5 never occurred


def test_a_large_vocabulary_does_not_overflow() -> None:
    vocabulary = 60_000  # its sixth power has 95 bits, and with so many contexts the codes have more than 31
    rows = [random_text(vocabulary, 9_000)]
    model, reference = fit_ngram(rows, 6, vocabulary), Reference(rows, [[True] * 8_999], 6, vocabulary)
    assert model.entries == tuple(len(reference.grams(length)) for length in range(1, 7))
    assert model.grams[-1] > 2**31 and all(discount > 0 for (discount,) in model.discounts)
    ids = torch.tensor(rows)[:, -300:]
    expected = [-math.log(reference.p(w, tuple(rows[0][-300:][:t]))) for t, w in enumerate(rows[0][-300:]) if t]
    surprisal = model.surprisal(ids[:, :-1], ids[:, 1:])
    torch.testing.assert_close(surprisal.double(), torch.tensor([expected]).double(), atol=1e-6, rtol=1e-6)


def test_grams_too_large_for_one_integer_are_distinguished() -> None:
    base = 2**40
    columns = [torch.tensor([7, 7, base - 1, 7]), torch.tensor([5, 5, 5, 5]), torch.tensor([base - 1, 0, 0, 0])]
    indices, counts = distinct(columns, base, torch.arange(4))
    assert {tuple(int(c[index]) for c in columns): int(n) for index, n in zip(indices, counts, strict=True)} == {
        (7, 5, base - 1): 1,
        (7, 5, 0): 2,
        (base - 1, 5, 0): 1,
    }


def save_and_load(tables: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    save_file(tables, folder / "tables.safetensors")
    return load_file(folder / "tables.safetensors")


@pytest.mark.parametrize("order", [1, 4])
def test_tables_are_unchanged_after_saving_and_loading(order: int, tmp_path: Path) -> None:
    model, fresh = fit_ngram([random_text(9, 700)], order, 9), ngram(order, 9)
    fresh.load_state_dict(save_and_load(model.state_dict(), tmp_path))
    ids = torch.tensor([random_text(9, 50, seed=2)])
    assert torch.equal(fresh(ids), model(ids))
    assert fresh.entries == model.entries
    assert fresh.discounts == model.discounts


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("contexts", lambda t: t + 2**20),
        ("contexts", lambda t: t.flip(0)),
        ("contexts", lambda t: t[:-1]),
        ("grams", lambda t: t + 2**20),
        ("grams", lambda t: -t),
        ("grams", lambda t: t[1:]),
        ("grams", lambda t: t.flip(0)),
        ("counts", lambda t: t * 0),
        ("counts", lambda t: t[1:]),
        ("sizes", lambda t: t + 1),
        ("sizes", lambda t: t * torch.tensor([-1, 0, 0, 0])),
    ],
)
def test_inconsistent_tables_are_rejected(table: str, change: object) -> None:
    tables = fit_ngram([random_text(9, 700)], 4, 9).state_dict()
    tables[table] = change(tables[table])
    with pytest.raises(RuntimeError, match="do not belong together"):
        ngram(4, 9).load_state_dict(tables)
