"""The n-gram: count what followed each context, and ask a shorter context for what never did. A table, no training.

Interpolated Kneser-Ney: the probability of token w after context h, where h' is h without its first token,

    p(w | h) = max(c(h w) - D, 0) / c(h .)  +  D N(h .) / c(h .) * p(w | h')

Each of the N(h .) kinds of tokens seen after h gives D of its count away, and the shorter context shares that out.
Only the longest grams are counted as they stand. For all shorter ones c counts the different tokens to their left:
"Francisco" is frequent, but only ever after "San", so it is no good guess after anything else. The start of a row is
one more thing to stand on the left. Shorter than the empty context is the even distribution, p(w | h') = 1/V, and a
context that was never seen leaves everything to h'. Each order has its own discount D = n1 / (n1 + 2 n2), where n1 of
its grams were counted once and n2 twice.

Kneser & Ney 1995; in this form Chen & Goodman 1998 (TR-10-98, sections 2.6 and 2.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import NgramTextConfig


class Ngram(nn.Module):
    """Counts of one text, and the probabilities that follow from them. It knows nothing before `fit`, or loading.

    The contexts have numbers: 0 is the empty one, then come those of one token, of two, and so on. A context has as
    its code (number of the context without its first token) * base + first token, and they are numbered as their
    codes ascend; a gram has the code (number of its context) * base + last token. So no code grows with the order,
    each context is found from the next shorter one, and all that followed a context stands side by side.
    """

    contexts: Tensor  # the codes of contexts 1, 2, ..., ascending
    grams: Tensor  # the codes of all grams, ascending: first those of one token, then of two, ...
    counts: Tensor  # c of each gram
    sizes: Tensor  # how many grams there are of each order
    # What follows from these. Tables of contexts have one place more, for one that was never seen; so has `shares`.
    firsts: Tensor  # where the grams of each context begin
    shares: Tensor  # (c(h w) - D) / c(h .) of each gram; unseen: 0
    backoffs: Tensor  # D N(h .) / c(h .) of each context; unseen: 1
    unigrams: Tensor  # p(w | the empty context)

    def __init__(self, config: NgramTextConfig, vocabulary: int, context: int, generator: Generator) -> None:
        """`context` and `generator` are there because every language model takes them."""
        super().__init__()
        self.order = config.n
        self.vocabulary = vocabulary
        self.start = vocabulary  # a token of its own that stands before every row
        self.base = vocabulary + 1
        for counted in ("contexts", "grams", "counts"):
            self.register_buffer(counted, torch.zeros(0, dtype=torch.int32))
        self.register_buffer("sizes", torch.zeros(self.order, dtype=torch.int32))
        for derived in ("firsts", "shares", "backoffs", "unigrams"):
            self.register_buffer(derived, None, persistent=False)
        self._derive()

    @property
    def entries(self) -> tuple[int, ...]:
        """How many grams of each order it keeps: what stands in the place of parameters."""
        return tuple(self.sizes.tolist())

    @property
    def discounts(self) -> tuple[float, ...]:
        """D of each order.

        Where no gram was counted once, the formula would forbid all that was not seen; where none was counted twice,
        it would forget whatever was seen once. Then D is a half.
        """
        found = []
        for counts in torch.split(self.counts, list(self.entries)):
            once, twice = int((counts == 1).sum()), int((counts == 2).sum())
            found.append(once / (once + 2 * twice) if once and twice else 0.5)
        return tuple(found)

    def fit(
        self,
        ids: Int[Tensor, "rows time"],
        targets: Int[Tensor, "rows time"],
        mask: Bool[Tensor, "rows time"] | None = None,
    ) -> None:
        """Count every target where the mask is true, after what stands before it in its row.

        `ids[:, t]` is the token before `targets[:, t]`. Whatever was counted before is forgotten.
        """
        back = [column.flatten() for column in self._back(ids.int())]
        last = targets.flatten().int()
        places = torch.arange(len(last)) if mask is None else mask.flatten().nonzero()[:, 0]
        places, counts = distinct([*back, last], self.base, places)

        # From short to long: number the contexts. A gram drops out where its row began; `ending` has its code.
        number = torch.zeros_like(counts)
        contexts, ending = [number[:0]], []
        for column in back:
            token = column[places]
            inside, outside = (token != self.start).nonzero()[:, 0], (token == self.start).nonzero()[:, 0]
            ending.append(number[outside] * self.base + last[places[outside]])
            token, places, counts, number = token[inside], places[inside], counts[inside], number[inside]
            codes, rank = torch.unique(number * self.base + token, return_inverse=True)
            number = 1 + sum(map(len, contexts)) + rank
            contexts.append(codes)
        table = torch.cat(contexts)

        # From long to short: every different gram is one thing to the left of the gram without its first token.
        codes, ascending = torch.sort(number * self.base + last[places])
        grams = [(codes, counts[ascending])]
        for codes_ending in reversed(ending):
            without_first = table[codes // self.base - 1] // self.base
            codes = torch.cat([without_first * self.base + codes % self.base, codes_ending])
            codes, counts = torch.unique(codes, return_counts=True)
            grams.insert(0, (codes, counts))

        small = torch.int32 if self.base * (len(table) + 2) < 2**31 else torch.int64
        self.contexts = table.to(small)
        self.grams = torch.cat([codes for codes, _ in grams]).to(small)
        self.counts = torch.cat([counts for _, counts in grams]).int()
        self.sizes = torch.tensor([len(codes) for codes, _ in grams], dtype=torch.int32)
        self._derive()

    def surprise(self, ids: Int[Tensor, "rows time"], targets: Int[Tensor, "rows time"]) -> Float[Tensor, "rows time"]:
        """-log p of each target in nats, after what stands before it in its row."""
        p = torch.full(targets.shape, 1 / self.vocabulary, dtype=torch.float64)
        for context in self._contexts(ids):
            p = self.shares[find(self.grams, context * self.base + targets)] + self.backoffs[context] * p
        return -p.log().float()

    def forward(self, ids: Int[Tensor, "*batch time"]) -> Float[Tensor, "*batch time vocabulary"]:
        """The log of the whole distribution of the next token, at every position."""
        return self._log_probabilities(torch.stack(self._contexts(ids), dim=-1))

    def next_logits(self, ids: Int[Tensor, "*batch time"]) -> Float[Tensor, "*batch vocabulary"]:
        """What `forward` says at the last position, and only there; also after nothing at all (time = 0)."""
        seen = F.pad(ids[..., -self.order :], (1, 0), value=self.start)
        return self._log_probabilities(torch.stack(self._contexts(seen), dim=-1)[..., -1:, :]).squeeze(-2)

    def _log_probabilities(self, contexts: Int[Tensor, "*batch time order"]) -> Float[Tensor, "*batch time vocabulary"]:
        """The formula for all tokens at once, multiplied out: a share counts times the backoffs of all longer contexts.

        The empty context aside, few tokens were seen after each, so there is little to add up.
        """
        seen = contexts[..., 1:].flatten(0, -2)  # (places, orders)
        scale = F.pad(self.backoffs[seen].flip(-1).cumprod(-1).flip(-1), (0, 1), value=1.0)
        p = scale[:, :1] * self.unigrams
        end = self.firsts[seen.flatten() + 1]
        kinds = end - self.firsts[seen.flatten()]
        which = torch.repeat_interleave(kinds)  # of the seen contexts, for each gram
        gram = torch.arange(len(which)) + (end - kinds.cumsum(0))[which]
        place = which // max(1, seen.shape[-1])
        shares = self.shares[gram] * scale[:, 1:].flatten()[which]
        p.view(-1).index_add_(0, place * self.vocabulary + self.grams[gram] % self.base, shares)
        return p.log().view(*contexts.shape[:-1], -1)

    def _back(self, ids: Int[Tensor, "*batch time"]) -> list[Int[Tensor, "*batch time"]]:
        """At each position its own token, the one before it, and so on: what the longest context sees."""
        return [F.pad(ids, (back, 0), value=self.start)[..., : ids.shape[-1]] for back in range(self.order - 1)]

    def _contexts(self, ids: Int[Tensor, "*batch time"]) -> list[Int[Tensor, "*batch time"]]:
        """The contexts of 0, 1, 2, ... tokens that end at each position.

        Where one is unknown the longer ones are too: no code begins with the number after the last, none ends with
        `start`.
        """
        number = torch.zeros_like(ids, dtype=torch.int64)
        numbers = [number]
        for token in self._back(ids):
            number = 1 + find(self.contexts, number * self.base + token)
            numbers.append(number)
        return numbers

    def _derive(self) -> None:
        """From the counts, what probabilities need."""
        context = self.grams // self.base
        places = len(self.contexts) + 2  # and the empty one, and the one that was never seen
        self.firsts = torch.searchsorted(context, torch.arange(places + 1, dtype=context.dtype))
        total = torch.zeros(places, dtype=torch.float64).index_add(0, context, self.counts.double())
        discount = torch.tensor(self.discounts, dtype=torch.float64).repeat_interleave(self.sizes)
        shares = (self.counts - discount) / total[context]
        self.shares = F.pad(shares, (0, 1)).float()
        self.backoffs = (1 - torch.zeros_like(total).index_add(0, context, shares)).float()  # all that shares leave
        self.unigrams = (self.backoffs[:1] / self.vocabulary).repeat(self.vocabulary)
        after_nothing = slice(0, self.firsts[1])
        self.unigrams[self.grams[after_nothing]] += self.shares[after_nothing]

    def _sound(self) -> bool:
        """Whether the tables belong together, so that none leads out of another."""
        contexts, grams, counts, sizes = self.contexts, self.grams, self.counts, self.sizes
        return bool(
            len(grams) == len(counts) == sizes.sum()
            and (sizes >= 0).all()
            and (contexts.diff() > 0).all()
            and (contexts >= 0).all()
            and (contexts // self.base <= torch.arange(len(contexts))).all()  # found from one that is shorter
            and (grams.diff() > 0).all()
            and (grams >= 0).all()
            and (grams // self.base <= len(contexts)).all()
            and (grams % self.base < self.vocabulary).all()
            and (counts > 0).all()
        )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """The size of the tables depends on the text: make room for those that come, then load as ever."""
        for name in ("contexts", "grams", "counts"):
            if (table := state_dict.get(prefix + name)) is not None:
                setattr(self, name, torch.empty_like(table))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        if self._sound():
            self._derive()
        else:
            rest[-1].append("the tables of the n-gram do not belong together")


def find(codes: Int[Tensor, " codes"], wanted: Int[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
    """Where each wanted code stands among the ascending ones; their number, where it does not."""
    if not len(codes):
        return torch.zeros_like(wanted)
    place = torch.searchsorted(codes, wanted.to(codes.dtype).contiguous())
    return torch.where(codes[place.clamp(max=len(codes) - 1)] == wanted, place, len(codes))


def distinct(
    columns: Sequence[Int[Tensor, " places"]], base: int, wanted: Int[Tensor, " wanted"]
) -> tuple[Int[Tensor, " kinds"], Int[Tensor, " kinds"]]:
    """Of the grams at the wanted places, each kind once: a place of it, and how often it occurs.

    Each column has one token of every gram, below `base`.
    """
    code, size = torch.zeros(len(columns[0]), dtype=torch.int64), 1
    for token in columns:
        if size * base >= 2**63:  # no room for another token: a rank says as much in less
            values, code = torch.unique(code, return_inverse=True)
            size = len(values)
        code.mul_(base).add_(token)  # in place: on a long text, fresh memory costs more than the sums
        size *= base
    _, kind, counts = torch.unique(code[wanted], return_inverse=True, return_counts=True)
    one_of_each = torch.empty_like(counts).scatter_(0, kind, torch.arange(len(kind))).sort().values
    return wanted[one_of_each], counts[kind[one_of_each]]
