"""Agreement: “the king near the queens … proud of …”, and two places where the subject has to be remembered.

Before the verb the answer is “is” or “are”, by the number of the subject; at the end “himself”, “herself” or
“themselves”, by its number and gender. Up to two nouns stand between the subject and the verb, drawn without regard
to it, so that whoever goes by the nearest noun is often wrong. (A generated stand-in for the sentences of Linzen,
Dupoux and Goldberg 2016, Assessing the ability of LSTMs to learn syntax-sensitive dependencies.)
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.tasks.labelling import PAD, LabellingConfig

VERSION = 1
MEN = ("king", "uncle", "actor", "waiter", "prince", "monk")
WOMEN = ("queen", "aunt", "actress", "waitress", "princess", "nun")
NEAR = ("near", "behind", "with", "above")
EARLY = ("today", "often", "surely")
FEELINGS = ("proud", "fond", "tired", "sure")
VERBS = ("is", "are")
PRONOUNS = ("himself", "herself", "themselves")
ONE = (*MEN, *WOMEN)
MANY = tuple(f"{noun}s" if not noun.endswith("ss") else f"{noun}es" for noun in ONE)
OTHER_WORDS = ("the", "of", *NEAR, *EARLY, *FEELINGS, *VERBS)


@dataclass(frozen=True)
class AgreementConfig(LabellingConfig):
    """There is nothing to be set: the grammar is what it is."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*OTHER_WORDS, *ONE, *MANY, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return (*VERBS, *PRONOUNS)

    @property
    def places(self) -> int:
        return 2 + 2 + 3 * 2 + 3  # adverbs, the subject, two times “near the queen”, “is proud of”

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("verb", "pronoun", "loss")


@dataclass(frozen=True)
class Clause:
    """A sentence, who it is about, and where that is asked for."""

    words: tuple[str, ...]  # up to “of”; the pronoun after it is what is asked for
    nouns: tuple[int, ...]  # places; the first is the subject
    verb: int  # the place of “is” or “are”; it is asked for at the place before

    @property
    def subject(self) -> str:
        return self.words[self.nouns[0]]

    @property
    def pronoun(self) -> str:
        return pronoun_of(self.subject)

    @property
    def misleading(self) -> bool:
        """Whether the noun before the verb would take another verb than the subject does."""
        return (self.words[self.nouns[-1]] in MANY) != (self.subject in MANY)

    @property
    def confusing(self) -> bool:
        """Whether the noun before the verb would take another pronoun than the subject does."""
        return pronoun_of(self.words[self.nouns[-1]]) != self.pronoun


def pronoun_of(noun: str) -> str:
    """Which pronoun stands for it."""
    return PRONOUNS[2] if noun in MANY else PRONOUNS[0] if noun in MEN else PRONOUNS[1]
