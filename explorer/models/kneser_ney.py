"""The n-gram language model: tables of counts, fitted without gradients. Kneser-Ney smoothing by default.

The probability of token w after context h, where h' is h without its first token, is

    p(w | h) = max(c(h w) - D, 0) / c(h .)  +  D N(h .) / c(h .) * p(w | h')

Each of the N(h .) distinct tokens seen after h has its count reduced by the discount D; the shorter context distributes
that mass. For the longest n-grams c is the number of occurrences. For all shorter ones it is the continuation count,
the number of distinct tokens to their left: "Francisco" is frequent, but only after "San", so it is unlikely after
other words. The start of a row counts as one more such token. Below the empty context is the uniform distribution,
p(w | h') = 1/V, and after an unseen context p(w | h) = p(w | h'). Each order has its own discount D = n1 / (n1 + 2 n2),
where n1 of its n-grams have the count 1 and n2 the count 2.

Kneser & Ney 1995; in this form Chen & Goodman 1998 (TR-10-98, sections 2.6 and 2.7). Options:

- Modified Kneser-Ney (Chen & Goodman 1998, section 3.1) reduces a count of 1, of 2, and of 3 or more by
  D1 = Y = n1 / (n1 + 2 n2), D2 = 2 - 3 Y n3 / n2 and D3 = 3 - 4 Y n4 / n3.
- Stupid backoff (Brants et al. 2007) scores a seen token by c(h w) / c(h .), with occurrences for c at every order, and
  an unseen one by 0.4 times its score after h'. The scores after a context do not sum to one, so this model divides
  them by their sum over the vocabulary. Below the empty context is the uniform distribution.
- A cache (Kuhn & De Mori 1990; Grave et al. 2017) with weight q: (1 - q) p(w | h) + q p'(w | h). The n-gram p' counts
  the text read so far, in the same row and to the left of w. Its smoothing is that of Witten & Bell (1991), which has
  no discount to estimate: p'(w | h) = (c(h w) + N(h .) p'(w | h')) / (c(h .) + N(h .)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import NgramTextConfig

Rows: TypeAlias = Int[Tensor, "rows time"]  # ids of tokens
Ids: TypeAlias = Int[Tensor, "*batch time"]
NextProbabilities: TypeAlias = Float[Tensor, "*batch time vocabulary"]  # or their logarithms
Codes: TypeAlias = Int[Tensor, " positions"]
STUPID_BACKOFF = 0.4  # the factor of Brants et al.


class Ngram(nn.Module):
    """An n-gram model of one text. Its tables are empty until `fit` or until a state is loaded.

    Contexts are numbered: 0 is the empty context, then come those of one token, of two tokens, and so on. The code of a
    context is (number of the context without its first token) * base + first token, and contexts of one length are
    numbered in the order of their codes. The code of a gram is (number of its context) * base + last token. So codes do
    not grow with the order, a context is found from the next shorter one, and the grams of a context are adjacent.
    """

    contexts: Tensor  # the codes of contexts 1, 2, ..., ascending
    grams: Tensor  # the codes of all grams, ascending: first those of one token, then of two, ...
    counts: Tensor  # c of each gram
    sizes: Tensor  # how many grams there are of each order
    # Derived from these. Tables of contexts, and `shares`, have one more entry for everything unseen.
    firsts: Tensor  # index of the first gram of each context
    shares: Tensor  # (c(h w) - D) / c(h .) of each gram; unseen: 0
    backoffs: Tensor  # D N(h .) / c(h .) of each context; unseen: 1
    unigrams: Tensor  # p(w | the empty context)

    def __init__(self, config: NgramTextConfig, vocabulary: int, context: int, generator: Generator) -> None:
        """`context` and `generator` have no effect; all language models have this signature."""
        super().__init__()
        self.order, self.smoothing, self.cache = config.n, config.smoothing, config.cache
        self.vocabulary = vocabulary
        self.start = vocabulary  # an extra token that precedes every row
        self.base = vocabulary + 1
        for stored in ("contexts", "grams", "counts"):
            self.register_buffer(stored, torch.zeros(0, dtype=torch.int32))
        self.register_buffer("sizes", torch.zeros(self.order, dtype=torch.int32))
        for derived in ("firsts", "shares", "backoffs", "unigrams"):
            self.register_buffer(derived, None, persistent=False)
        self._derive()

    @property
    def entries(self) -> tuple[int, ...]:
        """The number of stored grams of each order, which takes the place of the number of parameters."""
        return tuple(self.sizes.tolist())

    @property
    def discounts(self) -> tuple[tuple[float, ...], ...]:
        """The discounts of each order: one, or those of the counts 1, 2, and 3 or more. Stupid backoff has none.

        Where the formulas degenerate they are 1/2, or 1/2, 1 and 3/2 (as in KenLM). If no gram has the count 1, D = 0
        would give unseen grams no mass; if none has the count 2, D = 1 would remove all grams of count 1. The modified
        discounts need counts of 3 and 4 too, and few grams can make them negative.
        """
        orders = torch.split(self.counts, list(self.entries))
        numbers = [[int((counts == count).sum()) for count in range(1, 5)] for counts in orders]
        if self.smoothing == "modified_kneser_ney":
            return tuple(modified_discounts(number) for number in numbers)
        if self.smoothing == "kneser_ney":
            return tuple((once / (once + 2 * twice),) if once and twice else (0.5,) for once, twice, *_ in numbers)
        return ()

    def fit(self, ids: Rows, targets: Rows, mask: Bool[Tensor, "rows time"] | None = None) -> None:
        """Count each target where the mask is true, with the tokens before it in its row; forgets earlier counts."""
        previous = [column.flatten() for column in self._previous_tokens(ids.int())]
        last = targets.flatten().int()
        positions = torch.arange(len(last)) if mask is None else mask.flatten().nonzero()[:, 0]
        positions, counts = distinct([*previous, last], self.base, positions)

        # From short to long: number the contexts. A gram leaves at the start of its row; `ending` has its code.
        number = torch.zeros_like(counts)
        contexts, ending = [number[:0]], list[tuple[Tensor, Tensor]]()
        for column in previous:
            token = column[positions]
            inside, outside = (token != self.start).nonzero()[:, 0], (token == self.start).nonzero()[:, 0]
            ending.append((number[outside] * self.base + last[positions[outside]], counts[outside]))
            token, positions, counts, number = token[inside], positions[inside], counts[inside], number[inside]
            codes, rank = torch.unique(number * self.base + token, return_inverse=True)
            number = 1 + sum(map(len, contexts)) + rank
            contexts.append(codes)
        table = torch.cat(contexts)

        # From long to short: every distinct gram adds 1 to the continuation count of the gram without its first token.
        # Stupid backoff adds its number of occurrences.
        codes, ascending = torch.sort(number * self.base + last[positions])
        grams = [(codes, counts[ascending])]
        for codes_ending, counts_ending in reversed(ending):
            without_first = table[codes // self.base - 1] // self.base
            added = torch.cat([grams[0][1], counts_ending])
            codes = torch.cat([without_first * self.base + codes % self.base, codes_ending])
            codes, rank = torch.unique(codes, return_inverse=True)
            if self.smoothing != "stupid_backoff":
                added = torch.ones_like(added)
            grams.insert(0, (codes, torch.zeros_like(codes).index_add(0, rank, added)))

        small = torch.int32 if self.base * (len(table) + 2) < 2**31 else torch.int64
        self.contexts = table.to(small)
        self.grams = torch.cat([codes for codes, _ in grams]).to(small)
        self.counts = torch.cat([counts for _, counts in grams]).int()
        self.sizes = torch.tensor([len(codes) for codes, _ in grams], dtype=torch.int32)
        self._derive()

    def surprisal(self, ids: Rows, targets: Rows) -> Float[Tensor, "rows time"]:
        """Return -log p of each target in nats, given the tokens before it in its row."""
        rows = torch.arange(len(ids))[:, None].expand(ids.shape)
        return self._surprisal(ids, targets, torch.ones_like(targets, dtype=torch.bool), rows).view(targets.shape)

    def surprisal_reading_on(
        self, ids: Rows, targets: Rows, mask: Bool[Tensor, "rows time"] | None = None
    ) -> Float[Tensor, " targets"]:
        """Return -log p of the targets at which the mask is true; the cache also holds the targets of earlier rows."""
        mask = torch.ones_like(targets, dtype=torch.bool) if mask is None else mask
        return self._surprisal(ids, targets, mask, torch.zeros_like(targets))

    def _surprisal(self, ids: Rows, targets: Rows, mask: Tensor, rows: Rows) -> Float[Tensor, " targets"]:
        """Return -log p of the targets at which the mask is true; those of equal `rows` share a cache."""
        p = self._target_probabilities(ids, targets)[mask]
        if self.cache:
            previous = [column[mask] for column in self._previous_tokens(ids)]
            p = (1 - self.cache) * p + self.cache * self._cached_probabilities(previous, targets[mask], rows[mask])
        return -p.log().float()

    def forward(self, ids: Ids) -> NextProbabilities:
        """Return the log-probabilities of all next tokens at every position."""
        p = self._probabilities(torch.stack(self._contexts(ids), dim=-1))
        if self.cache:
            p = self._mix_with_cache(p, ids, torch.arange(ids.shape[-1]))
        return p.log()

    def next_logits(self, ids: Ids) -> Float[Tensor, "*batch vocabulary"]:
        """Return the output of `forward` at the last position only. Empty rows (time = 0) are allowed."""
        seen = F.pad(ids[..., -self.order :], (1, 0), value=self.start)
        p = self._probabilities(torch.stack(self._contexts(seen), dim=-1)[..., -1:, :])
        if self.cache:
            p = self._mix_with_cache(p, ids, torch.tensor([ids.shape[-1] - 1]))
        return p.log().squeeze(-2)

    def _target_probabilities(self, ids: Rows, targets: Rows) -> Float[Tensor, "rows time"]:
        """Return the probability of each target without the cache."""
        p = torch.full(targets.shape, 1 / self.vocabulary, dtype=torch.float64)
        for context in self._contexts(ids):
            p = self.shares[find(self.grams, context * self.base + targets)] + self.backoffs[context] * p
        return p

    def _cached_probabilities(
        self, previous: Sequence[Codes], targets: Codes, rows: Codes
    ) -> Float[Tensor, " positions"]:
        """Return the probability of each target in the cache, which holds the earlier targets of the same row.

        previous: the tokens before each target, the nearest first
        rows: the number of the row of each target
        """
        token, context, longer = targets, rows, list(previous)
        p = torch.full(token.shape, 1 / self.vocabulary, dtype=torch.float64)
        inside = torch.ones_like(token, dtype=torch.bool)
        while True:
            gram = context * self.base + token
            total, count = (sum_of_earlier(code, torch.ones_like(code)) for code in (context, gram))
            kinds = sum_of_earlier(context, (count == 0).long())
            p = torch.where(inside & (total > 0), (count + kinds * p) / (total + kinds), p)
            if not longer:
                return p
            before = longer.pop(0)
            context = torch.unique(context * self.base + before, return_inverse=True)[1]
            inside = inside & (before != self.start)

    def _mix_with_cache(
        self, p: Float[Tensor, "*batch positions vocabulary"], ids: Ids, positions: Tensor
    ) -> Float[Tensor, "*batch positions vocabulary"]:
        """Mix the probabilities of all tokens after the given positions with those of the cache of each row."""
        rows = ids[None].flatten(0, -2)
        read, longer = rows[:, 1:].long(), self._previous_tokens(rows)
        # Whether the context after a position is that before an earlier token, in as many tokens as regarded so far.
        same = (torch.arange(read.shape[-1]) < positions[:, None]).expand(len(read), -1, -1)
        cached = torch.full((*same.shape[:2], self.vocabulary), 1 / self.vocabulary)
        while True:
            counts = torch.zeros_like(cached).scatter_add_(-1, read[:, None].expand_as(same), same.float())
            total, kinds = counts.sum(-1, keepdim=True), (counts > 0).sum(-1, keepdim=True)
            cached = torch.where(total > 0, (counts + kinds * cached) / (total + kinds), cached)
            if not longer or not read.numel():
                return (1 - self.cache) * p + self.cache * cached.view(p.shape)
            before = longer.pop(0)
            after_position = before[:, positions, None]
            same = same & (after_position == before[:, None, :-1]) & (after_position != self.start)

    def _probabilities(self, contexts: Int[Tensor, "*batch time order"]) -> NextProbabilities:
        """Return the probabilities, without the cache, of all tokens after given contexts (by number, short to long).

        The recursion is expanded: a share is weighted by the product of the backoffs of all longer contexts. Except for
        the empty context, few tokens were seen after each context, so the sum is short.
        """
        seen = contexts[..., 1:].flatten(0, -2)  # (positions, orders)
        scale = F.pad(self.backoffs[seen].flip(-1).cumprod(-1).flip(-1), (0, 1), value=1.0)
        p = scale[:, :1] * self.unigrams
        end = self.firsts[seen.flatten() + 1]
        kinds = end - self.firsts[seen.flatten()]
        owner = torch.repeat_interleave(kinds)  # index of the context of each gram
        gram = torch.arange(len(owner)) + (end - kinds.cumsum(0))[owner]
        position = owner // max(1, seen.shape[-1])
        shares = self.shares[gram] * scale[:, 1:].flatten()[owner]
        p.view(-1).index_add_(0, position * self.vocabulary + self.grams[gram] % self.base, shares)
        return p.float().view(*contexts.shape[:-1], -1)

    def _previous_tokens(self, ids: Ids) -> list[Ids]:
        """Return, for each position, its own token, the one before it, and so on: the tokens of the longest context."""
        return [F.pad(ids, (back, 0), value=self.start)[..., : ids.shape[-1]] for back in range(self.order - 1)]

    def _contexts(self, ids: Ids) -> list[Ids]:
        """Return the numbers of the contexts of 0, 1, 2, ... tokens that end at each position.

        If a context is unseen, so are the longer ones: no code starts with the number that stands for unseen contexts,
        and none ends with `start`.
        """
        number = torch.zeros_like(ids, dtype=torch.int64)
        numbers = [number]
        for token in self._previous_tokens(ids):
            number = 1 + find(self.contexts, number * self.base + token)
            numbers.append(number)
        return numbers

    def _derive(self) -> None:
        """Compute the tables of probabilities from the counts."""
        context = self.grams // self.base
        rows = len(self.contexts) + 2  # plus the empty context and the unseen one
        self.firsts = torch.searchsorted(context, torch.arange(rows + 1, dtype=context.dtype))
        total = torch.zeros(rows, dtype=torch.float64).index_add(0, context, self.counts.double())
        if self.smoothing == "stupid_backoff":
            shares, backoffs = self._normalized_stupid_backoff(self.counts / total[context])
            self.shares, self.backoffs = F.pad(shares, (0, 1)), backoffs  # in double precision: shares are differences
        else:
            discounts = torch.tensor(self.discounts, dtype=torch.float64)
            order = torch.arange(self.order).repeat_interleave(self.sizes)
            shares = (self.counts - discounts[order, self.counts.clamp(1, discounts.shape[1]) - 1]) / total[context]
            self.shares = F.pad(shares, (0, 1)).float()
            self.backoffs = (1 - torch.zeros_like(total).index_add(0, context, shares)).float()  # the rest
        self.unigrams = (self.backoffs[:1] / self.vocabulary).repeat(self.vocabulary)
        after_nothing = slice(0, self.firsts[1])
        self.unigrams[self.grams[after_nothing]] += self.shares[after_nothing]

    def _normalized_stupid_backoff(self, frequencies: Float[Tensor, " grams"]) -> tuple[Tensor, Tensor]:
        """Return the shares and backoffs with which p(w | h) is the score of stupid backoff divided by its sum Z(h).

        After h, an unseen token has STUPID_BACKOFF Z(h') p(w | h') / Z(h), so its factor is the backoff. A seen token
        has c(h w) / c(h .) / Z(h), whose share is the rest.
        """
        context = self.grams // self.base
        shares, backoffs = torch.zeros_like(frequencies), torch.ones(len(self.contexts) + 2, dtype=torch.float64)
        sums, p = torch.ones_like(backoffs), torch.zeros_like(frequencies)
        shorter = F.pad(self.contexts // self.base, (1, 1)).long()  # of the empty context: the empty context
        end = 0
        for order, size in enumerate(self.entries):
            grams = slice(end, end := end + size)
            here, token = context[grams].long(), self.grams[grams] % self.base
            if order:
                suffix = find(self.grams, shorter[here] * self.base + token)
                shorter_p, shorter_sum = p[suffix], sums[shorter]
            else:
                shorter_p, shorter_sum = torch.full_like(p[grams], 1 / self.vocabulary), torch.ones_like(sums)
            seen = torch.zeros_like(sums).index_add(0, here, shorter_p)  # the mass of seen tokens after h'
            contexts = torch.unique(here)
            sums[contexts] = 1 + STUPID_BACKOFF * (shorter_sum * (1 - seen))[contexts]
            backoffs[contexts] = STUPID_BACKOFF * shorter_sum[contexts] / sums[contexts]
            p[grams] = frequencies[grams] / sums[here]
            shares[grams] = p[grams] - backoffs[here] * shorter_p
        return shares, backoffs

    def _is_consistent(self) -> bool:
        """Return whether the tables are consistent, so that no index is out of range."""
        contexts, grams, counts, sizes = self.contexts, self.grams, self.counts, self.sizes
        return bool(
            len(grams) == len(counts) == sizes.sum()
            and (sizes >= 0).all()
            and (contexts.diff() > 0).all()
            and (contexts >= 0).all()
            and (contexts // self.base <= torch.arange(len(contexts))).all()  # refers to an earlier context
            and (grams.diff() > 0).all()
            and (grams >= 0).all()
            and (grams // self.base <= len(contexts)).all()
            and (grams % self.base < self.vocabulary).all()
            and (counts > 0).all()
        )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Resize the tables to those of the state before loading, because their sizes depend on the text."""
        for name in ("contexts", "grams", "counts"):
            if (table := state_dict.get(prefix + name)) is not None:
                setattr(self, name, torch.empty_like(table))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        if self._is_consistent():
            self._derive()
        else:
            rest[-1].append("the tables of the n-gram do not belong together")


def modified_discounts(numbers: Sequence[int]) -> tuple[float, float, float]:
    """Return the discounts of the counts 1, 2, and 3 or more, if `numbers` of grams have the counts 1, 2, 3 and 4."""
    if not all(numbers):
        return 0.5, 1.0, 1.5
    once, twice, thrice, four_times = numbers
    y = once / (once + 2 * twice)
    two, three = 2 - 3 * y * thrice / twice, 3 - 4 * y * four_times / thrice
    return (y, two, three) if two > 0 and three > 0 else (0.5, 1.0, 1.5)


def sum_of_earlier(keys: Codes, values: Codes) -> Codes:
    """Return, for each position, the sum of the values at earlier positions with the same key."""
    keys, ascending = torch.sort(keys, stable=True)
    before = values[ascending].cumsum(0) - values[ascending]
    first = torch.searchsorted(keys, keys)  # the first position of each key
    return torch.empty_like(before).scatter_(0, ascending, before - before[first])


def find(codes: Int[Tensor, " codes"], wanted: Int[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
    """Return the index of each wanted code in the ascending `codes`, or `len(codes)` if it is missing."""
    if not len(codes):
        return torch.zeros_like(wanted)
    index = torch.searchsorted(codes, wanted.to(codes.dtype).contiguous())
    return torch.where(codes[index.clamp(max=len(codes) - 1)] == wanted, index, len(codes))


def distinct(
    columns: Sequence[Codes], base: int, wanted: Int[Tensor, " wanted"]
) -> tuple[Int[Tensor, " kinds"], Int[Tensor, " kinds"]]:
    """Return one position of each distinct gram (a row of tokens below `base`) among the wanted, and their numbers."""
    code, size = torch.zeros(len(columns[0]), dtype=torch.int64), 1
    for token in columns:
        if size * base >= 2**63:  # no room for another token: replace codes by their ranks
            values, code = torch.unique(code, return_inverse=True)
            size = len(values)
        code.mul_(base).add_(token)  # in place: on a long text, allocation costs more than the arithmetic
        size *= base
    _, kind, counts = torch.unique(code[wanted], return_inverse=True, return_counts=True)
    one_of_each = torch.empty_like(counts).scatter_(0, kind, torch.arange(len(kind))).sort().values
    return wanted[one_of_each], counts[kind[one_of_each]]
