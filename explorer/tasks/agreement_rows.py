"""Sentences of the task agreement as tensors, and how often a model says what the subject asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from explorer.seeds import generator
from explorer.tasks.agreement import (
    EARLY,
    FEELINGS,
    MANY,
    NEAR,
    ONE,
    VERBS,
    AgreementConfig,
    Clause,
)
from explorer.tasks.labelled import Rows, asked, losses, mean_over

FRESH_CLAUSES = 512  # of each kind


def batch(config: AgreementConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step: fresh sentences."""
    return rows_of(config, clauses(generator(seed, f"agreement/{order}/{step}"), size))


def clauses(drawn: Generator, count: int) -> list[Clause]:
    """Sentences in which everything is drawn evenly and by itself."""
    return [clause(iter(numbers)) for numbers in torch.randint(2**31, (count, 16), generator=drawn).tolist()]


def clause(numbers: Iterator[int]) -> Clause:
    """The sentence that some large random numbers make."""

    def pick(words: Sequence[str]) -> str:
        return words[next(numbers) % len(words)]

    words, nouns = [pick(EARLY) for _ in range(next(numbers) % 3)], []
    for place in range(1 + next(numbers) % 3):
        words += ["the"] if place == 0 else [pick(NEAR), "the"]
        nouns.append(len(words))
        words.append(pick((*ONE, *MANY)))
    verb = len(words)
    words += [VERBS[words[nouns[0]] in MANY], pick(FEELINGS), "of"]
    return Clause(tuple(words), tuple(nouns), verb)


def rows_of(config: AgreementConfig, said: Sequence[Clause]) -> Rows:
    """Sentences, of which two places count: that before the verb, and the last."""
    known, answers = _places(config.vocabulary), _places(config.labels)
    ids, wanted = ([[filler] * config.places for _ in said] for filler in (len(known) - 1, -1))
    for row, each in enumerate(said):
        ids[row][: len(each.words)] = [known[word] for word in each.words]
        wanted[row][each.verb - 1] = answers[each.words[each.verb]]
        wanted[row][len(each.words) - 1] = answers[each.pronoun]
    labels = torch.tensor(wanted)
    return Rows(torch.tensor(ids), labels.clamp_min(0), labels >= 0)


def _places(words: Sequence[str]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}


def fresh(kind: str, count: int = FRESH_CLAUSES, seed: int = 0) -> list[Clause]:
    """Sentences that no training draws, the same for every model: all of a kind, "misleading" or "confusing"."""
    drawn, found = generator(seed, f"agreement/asked/{kind}"), list[Clause]()
    while len(found) < count:
        found += [each for each in clauses(drawn, count) if getattr(each, kind)]
    return found[:count]


def examine(config: AgreementConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """How often the verb and the pronoun are right where the noun before the verb would take another one."""
    right, surprise = {}, []
    for metric, kind in (("verb", "misleading"), ("pronoun", "confusing")):
        said = fresh(kind)
        rows = rows_of(config, said)
        logits = asked(model, rows.ids, replicas)
        right[metric] = right_at(config, logits, said, metric).float().mean(dim=-1)
        at_all = losses(logits, rows.wanted.expand(replicas, *rows.wanted.shape))
        surprise.append(mean_over(at_all, rows.counted))
    return {**right, "loss": torch.stack(surprise).mean(dim=0)}


def right_at(
    config: AgreementConfig, logits: Float[Tensor, "replicas clauses time labels"], said: Sequence[Clause], what: str
) -> Bool[Tensor, "replicas clauses"]:
    """Where the likeliest answer is right, for the "verb" or the "pronoun"."""
    places = torch.tensor([asked_at(each, what) for each in said])
    wanted = [each.words[each.verb] if what == "verb" else each.pronoun for each in said]
    answered = logits[:, torch.arange(len(said)), places].argmax(dim=-1)
    return answered == torch.tensor([config.labels.index(word) for word in wanted])


def asked_at(said: Clause, what: str) -> int:
    """The place that answers for the "verb" or the "pronoun"."""
    return said.verb - 1 if what == "verb" else len(said.words) - 1
