"""The agreement task: “the king near the queens … proud of …”, with two predictions that depend on the subject.

Before the verb the label is “is” or “are”, by the number of the subject; at the end it is “himself”, “herself” or
“themselves”, by number and gender. Up to two nouns stand between the subject and the verb, drawn independently of it,
so that a model that uses the nearest noun (an attractor) is often wrong. The sentences are a generated substitute for
those of Linzen, Dupoux and Goldberg (2016), Assessing the ability of LSTMs to learn syntax-sensitive dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from explorer.array_types import Bool, Float
from explorer.lazy_libraries import torch
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.sequence_labelling.rows import Rows, logits_per_replica, masked_mean, position_losses

VERSION = 1
MALE_NOUNS = ("king", "uncle", "actor", "waiter", "prince", "monk")
FEMALE_NOUNS = ("queen", "aunt", "actress", "waitress", "princess", "nun")
PREPOSITIONS = ("near", "behind", "with", "above")
ADVERBS = ("today", "often", "surely")
ADJECTIVES = ("proud", "fond", "tired", "sure")
VERBS = ("is", "are")
PRONOUNS = ("himself", "herself", "themselves")
SINGULAR_NOUNS = (*MALE_NOUNS, *FEMALE_NOUNS)
PLURAL_NOUNS = tuple(f"{noun}s" if not noun.endswith("ss") else f"{noun}es" for noun in SINGULAR_NOUNS)
OTHER_WORDS = ("the", "of", *PREPOSITIONS, *ADVERBS, *ADJECTIVES, *VERBS)


@dataclass(frozen=True)
class AgreementConfig(LabellingConfig):
    """The task has no settings: the grammar is fixed."""

    vocabulary = (*OTHER_WORDS, *SINGULAR_NOUNS, *PLURAL_NOUNS, PAD)
    labels = (*VERBS, *PRONOUNS)
    max_length = 2 + 2 + 3 * 2 + 3  # adverbs, the subject, two times “near the queen”, “is proud of”
    metrics = ("verb", "pronoun", "loss")


@dataclass(frozen=True)
class Clause:
    """A sentence with the positions of its nouns and of its verb."""

    words: tuple[str, ...]  # up to “of”; the label there is the pronoun that follows
    noun_positions: tuple[int, ...]  # the first is the subject
    verb_position: int  # of “is” or “are”; it is predicted one position earlier

    @property
    def subject(self) -> str:
        return self.words[self.noun_positions[0]]

    @property
    def pronoun(self) -> str:
        return pronoun_for(self.subject)

    @property
    def misleading(self) -> bool:
        """Whether the noun before the verb requires another verb form than the subject."""
        return (self.words[self.noun_positions[-1]] in PLURAL_NOUNS) != (self.subject in PLURAL_NOUNS)

    @property
    def confusing(self) -> bool:
        """Whether the noun before the verb requires another pronoun than the subject."""
        return pronoun_for(self.words[self.noun_positions[-1]]) != self.pronoun


def pronoun_for(noun: str) -> str:
    """Return the reflexive pronoun of a noun."""
    return PRONOUNS[2] if noun in PLURAL_NOUNS else PRONOUNS[0] if noun in MALE_NOUNS else PRONOUNS[1]


EVALUATION_CLAUSES = 512  # of each kind


def batch(config: AgreementConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new sentences."""
    return build_rows(config, draw_clauses(generator(seed, f"agreement/{order}/{step}"), size))


def draw_clauses(rng: torch.Generator, count: int) -> list[Clause]:
    """Return random sentences; every choice is uniform and independent."""
    return [build_clause(iter(numbers)) for numbers in torch.randint(2**31, (count, 16), generator=rng).tolist()]


def build_clause(numbers: Iterator[int]) -> Clause:
    """Return the sentence that is determined by large random numbers."""

    def pick(words: Sequence[str]) -> str:
        return words[next(numbers) % len(words)]

    words, noun_positions = [pick(ADVERBS) for _ in range(next(numbers) % 3)], []
    for index in range(1 + next(numbers) % 3):
        words += ["the"] if index == 0 else [pick(PREPOSITIONS), "the"]
        noun_positions.append(len(words))
        words.append(pick((*SINGULAR_NOUNS, *PLURAL_NOUNS)))
    verb_position = len(words)
    words += [VERBS[words[noun_positions[0]] in PLURAL_NOUNS], pick(ADJECTIVES), "of"]
    return Clause(tuple(words), tuple(noun_positions), verb_position)


def build_rows(config: AgreementConfig, clauses: Sequence[Clause]) -> Rows:
    """Return sentences as rows whose mask has two positions: the one before the verb, and the last."""
    token_ids, label_ids = ({word: i for i, word in enumerate(words)} for words in (config.vocabulary, config.labels))
    ids, targets = ([[filler] * config.max_length for _ in clauses] for filler in (len(token_ids) - 1, -1))
    for row, each in enumerate(clauses):
        ids[row][: len(each.words)] = [token_ids[word] for word in each.words]
        targets[row][each.verb_position - 1] = label_ids[each.words[each.verb_position]]
        targets[row][len(each.words) - 1] = label_ids[each.pronoun]
    labels = torch.tensor(targets)
    return Rows(torch.tensor(ids), labels.clamp_min(0), labels >= 0)


def evaluation_clauses(kind: str, count: int = EVALUATION_CLAUSES) -> list[Clause]:
    """Return sentences for evaluation, equal for all models. `kind` is "misleading" or "confusing", see `Clause`."""
    rng, clauses = generator(0, f"agreement/asked/{kind}"), list[Clause]()
    while len(clauses) < count:
        clauses += [each for each in draw_clauses(rng, count) if getattr(each, kind)]
    return clauses[:count]


def evaluate(config: AgreementConfig, model: torch.nn.Module, replicas: int, whole: bool) -> dict[str, torch.Tensor]:
    """Return the accuracy of verb and pronoun on sentences whose nearest noun requires another one, and the loss."""
    shares, losses = {}, []
    for metric, kind in (("verb", "misleading"), ("pronoun", "confusing")):
        clauses = evaluation_clauses(kind)
        rows = build_rows(config, clauses)
        logits = logits_per_replica(model, rows.ids, replicas)
        shares[metric] = is_correct(config, logits, clauses, metric).float().mean(dim=-1)
        losses.append(masked_mean(position_losses(logits, rows.targets), rows.mask))
    return {**shares, "loss": torch.stack(losses).mean(dim=0)}


def is_correct(
    config: AgreementConfig,
    logits: Float[torch.Tensor, "replicas clauses time labels"],
    clauses: Sequence[Clause],
    metric: str,
) -> Bool[torch.Tensor, "replicas clauses"]:
    """Return whether the likeliest label is correct. `metric` is "verb" or "pronoun"."""
    positions = torch.tensor([answer_position(each, metric) for each in clauses])
    targets = [each.words[each.verb_position] if metric == "verb" else each.pronoun for each in clauses]
    predicted = logits[:, torch.arange(len(clauses)), positions].argmax(dim=-1)
    return predicted == torch.tensor([config.labels.index(word) for word in targets])


def answer_position(clause: Clause, metric: str) -> int:
    """Return the position at which the "verb" or the "pronoun" is predicted."""
    return clause.verb_position - 1 if metric == "verb" else len(clause.words) - 1
