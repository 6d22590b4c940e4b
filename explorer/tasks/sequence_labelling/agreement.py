"""The agreement task: “the king near the queens … proud of …”, with two predictions that depend on the subject.

Before the verb the label is “is” or “are”, by the number of the subject; at the end it is “himself”, “herself” or
“themselves”, by number and gender. Up to two nouns stand between the subject and the verb, drawn independently of it,
so that a model that uses the nearest noun (an attractor) is often wrong. The sentences are a generated substitute for
those of Linzen, Dupoux and Goldberg (2016), Assessing the ability of LSTMs to learn syntax-sensitive dependencies.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig

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

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*OTHER_WORDS, *SINGULAR_NOUNS, *PLURAL_NOUNS, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return (*VERBS, *PRONOUNS)

    @property
    def max_length(self) -> int:
        return 2 + 2 + 3 * 2 + 3  # adverbs, the subject, two times “near the queen”, “is proud of”

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("verb", "pronoun", "loss")


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
