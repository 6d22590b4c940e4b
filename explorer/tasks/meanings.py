"""A small generated language in which four words mean two things, for the tasks `gloss` and `gist`.

Every sentence is about one of eight topics. It has two nouns of its topic and, in one of ten frames, a word that is
either a homograph (“bank”) or a synonym that says one of its senses without doubt (“lender”, “shore”). The frames are
the same for all topics, and a homograph may stand wherever a synonym may: only the nouns around it tell what it means.
Two of the eight nouns of each topic never stand beside a homograph in training: they are the "new cues".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.labelling import PAD, LabellingConfig
from explorer.tokenization.words import LONGEST, Words

HIDDEN = "<HIDDEN>"
SENSES = {
    "bank": ("money", "river"),
    "bat": ("game", "night"),
    "bark": ("dog", "tree"),
    "spring": ("season", "machine"),
}
SYNONYMS = {
    "money": "lender",
    "river": "shore",
    "game": "racket",
    "night": "pipistrelle",
    "dog": "woof",
    "tree": "rind",
    "season": "april",
    "machine": "coil",
}
NOUNS = {
    "money": ("loan", "cash", "account", "teller", "cheque", "deposit", "vault", "credit"),
    "river": ("water", "boat", "fisher", "reed", "current", "mud", "ferry", "trout"),
    "game": ("ball", "pitcher", "inning", "helmet", "umpire", "glove", "stadium", "runner"),
    "night": ("cave", "wing", "moon", "insect", "dusk", "owl", "moth", "colony"),
    "dog": ("dog", "puppy", "leash", "kennel", "bone", "tail", "collar", "growl"),
    "tree": ("oak", "trunk", "branch", "leaf", "forest", "root", "moss", "birch"),
    "season": ("winter", "summer", "blossom", "rain", "lamb", "meadow", "garden", "thaw"),
    "machine": ("metal", "mattress", "clock", "lever", "screw", "tension", "gear", "wire"),
}
KNOWN = 6  # of the eight nouns of a topic: those that stand beside homographs in training; the others are new cues
WORD = "X"  # in a frame: where the homograph or the synonym stands
FIRST = "A"  # and the two nouns
SECOND = "B"
FRAMES = tuple(
    frame.split()
    for frame in (
        "the X is near the A and the B",
        "a A and a B are by the X",
        "we saw the X with a A and a B",
        "the A and the B made us think of the X",
        "they spoke of the X and of a A or a B",
        "here is a X with the A and the B",
        "by the A we saw a X and a B",
        "of the A the X and the B they spoke",
        "the X and a A and a B are here",
        "think of a B and a A then of the X",
    )
)
TOPICS = tuple(NOUNS)
HOMOGRAPHS = tuple(SENSES)
HOMOGRAPH_OF = {topic: word for word, topics in SENSES.items() for topic in topics}
_SMALL = tuple(sorted({word for frame in FRAMES for word in frame} - {WORD, FIRST, SECOND}))
WORDS = (*_SMALL, *HOMOGRAPHS, *SYNONYMS.values(), *(noun for nouns in NOUNS.values() for noun in nouns))

TYPED = Words((*WORDS, HIDDEN, PAD), first=HIDDEN, last=HIDDEN, padding=PAD)  # reads what a visitor types


@dataclass(frozen=True)
class MeaningsConfig(LabellingConfig):
    """How many sentences there are to learn from."""

    sentences: int = setting(400, "Sentences to learn from; each seed has its own.", 1, 10_000)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*WORDS, HIDDEN, PAD)

    @property
    def places(self) -> int:
        return LONGEST


@dataclass(frozen=True)
class Said:
    """A sentence of the language, and what it is about."""

    words: tuple[str, ...]
    topic: str
    place: int  # of the homograph or the synonym
    content: tuple[int, ...]  # the places of that word and of the two nouns

    @property
    def ambiguous(self) -> bool:
        """Whether the word is a homograph."""
        return self.words[self.place] in SENSES


def sentence(frame: int, topic: str, ambiguous: bool, first: str, second: str) -> Said:
    """One sentence. `first` and `second` are nouns of its topic."""
    word = HOMOGRAPH_OF[topic] if ambiguous else SYNONYMS[topic]
    filled = {WORD: word, FIRST: first, SECOND: second}
    places = [i for i, each in enumerate(FRAMES[frame]) if each in filled]
    words = tuple(filled.get(each, each) for each in FRAMES[frame])
    return Said(words, topic, FRAMES[frame].index(WORD), tuple(places))


def ids_of(words: Sequence[str]) -> list[int]:
    """The places of words in the vocabulary."""
    return [_PLACES[word] for word in words]


_PLACES = {word: i for i, word in enumerate((*WORDS, HIDDEN, PAD))}
