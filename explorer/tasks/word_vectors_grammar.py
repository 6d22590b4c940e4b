"""A small English grammar whose words stand in known relations, so that the neighbours of a vector can be checked.

A planted analogy is a grid of pairs: the words of a pair share the words of their topic (king and queen: throne, crown)
and the words of a side share the words of that side (king and father: he, his). Other sentences plant what word vectors
are known to get wrong: antonyms with the same neighbours, a word with two senses, professions that stand more often
with one pronoun than with the other, and words of one kind whose frequency halves from one to the next.

All words are planted by this file; no claim about English follows from it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Relation:
    """Pairs of words with the same difference, and the sentences of both sides; `{w}` is the word, `{t}` its topic."""

    name: str
    pairs: Mapping[tuple[str, str], tuple[str, ...]]  # each with the words of its topic
    first: tuple[str, ...]
    second: tuple[str, ...]


RELATIONS = (
    Relation(
        "gender",
        {
            ("king", "queen"): ("throne", "crown", "palace"),
            ("father", "mother"): ("cradle", "baby", "lullaby"),
            ("son", "daughter"): ("toy", "school", "homework"),
            ("uncle", "aunt"): ("visit", "gift", "cousin"),
            ("actor", "actress"): ("stage", "film", "role"),
            ("waiter", "waitress"): ("menu", "tray", "tip"),
            ("monk", "nun"): ("prayer", "candle", "chapel"),
            ("wizard", "witch"): ("spell", "potion", "wand"),
        },
        ("the {w} takes his {t} and he smiles", "he is a {w} and thinks of his {t}", "his {t} is what the {w} wants"),
        ("the {w} takes her {t} and she smiles", "she is a {w} and thinks of her {t}", "her {t} is what the {w} wants"),
    ),
    Relation(
        "capital",
        {
            ("paris", "france"): ("wine", "baguettes"),
            ("rome", "italy"): ("pasta", "pizza"),
            ("tokyo", "japan"): ("sushi", "rice"),
            ("berlin", "germany"): ("sausages", "pretzels"),
            ("madrid", "spain"): ("paella", "oranges"),
            ("athens", "greece"): ("olives", "feta"),
            ("vienna", "austria"): ("strudel", "dumplings"),
            ("cairo", "egypt"): ("dates", "falafel"),
        },
        ("the streets of {w} smell of {t}", "the mayor of {w} serves {t}", "shops downtown in {w} sell {t}"),
        ("the farmers of {w} harvest {t}", "the army of {w} carries {t}", "beyond the border of {w} there is {t}"),
    ),
    Relation(
        "tense",
        {
            ("walks", "walked"): ("miles", "roads"),
            ("sings", "sang"): ("songs", "tunes"),
            ("writes", "wrote"): ("letters", "poems"),
            ("drinks", "drank"): ("tea", "juice"),
            ("drives", "drove"): ("cars", "trucks"),
            ("bakes", "baked"): ("bread", "cakes"),
            ("digs", "dug"): ("holes", "tunnels"),
            ("plays", "played"): ("chess", "cards"),
        },
        ("every day somebody {w} {t}", "right now somebody {w} {t}", "today somebody {w} {t} again"),
        ("last year somebody {w} {t}", "long ago somebody {w} {t}", "yesterday somebody {w} {t} again"),
    ),
    Relation(
        "plural",
        {
            ("cat", "cats"): ("whiskers", "mice"),
            ("dog", "dogs"): ("bones", "leash"),
            ("horse", "horses"): ("saddle", "hay"),
            ("cow", "cows"): ("milk", "pasture"),
            ("bird", "birds"): ("feathers", "nest"),
            ("bee", "bees"): ("honey", "hive"),
            ("spider", "spiders"): ("web", "flies"),
            ("boat", "boats"): ("sail", "harbour"),
        },
        ("a {w} has its {t}", "this single {w} needs {t}", "one {w} finds its {t}"),
        ("two {w} have their {t}", "these many {w} need {t}", "all {w} find their {t}"),
    ),
)
ANTONYMS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("hot", "cold"): ("soup", "bath", "weather"),
    ("big", "small"): ("house", "shoe", "room"),
    ("fast", "slow"): ("runner", "train", "lift"),
    ("loud", "quiet"): ("music", "engine", "crowd"),
    ("clean", "dirty"): ("shirt", "kitchen", "window"),
    ("good", "bad"): ("idea", "advice", "plan"),
}
_OF_ANTONYMS = ("the {t} was very {w} indeed", "what a {w} {t} it was")
# A word with two senses, and for each sense a word that has only this one, with the sentences of the sense.
HOMOGRAPH = "bank"
SENSES: Mapping[str, tuple[str, ...]] = {
    "lender": ("the {w} approves loans and credit", "the {w} counts cash and interest", "savings lie at the {w}"),
    "shore": ("the {w} floods with mud", "reeds and ducks cover the {w}", "water flows along the {w}"),
}
# Professions, each with the share of its sentences that say “he”.
PROFESSIONS: Mapping[str, float] = {
    "engineer": 0.8,
    "pilot": 0.8,
    "doctor": 0.8,
    "nurse": 0.2,
    "librarian": 0.2,
    "dancer": 0.2,
}
_OF_PROFESSIONS = ("the {w} says that {pronoun} works late", "the {w} is tired because {pronoun} works")
# Each is half as frequent as the one before.
FRUITS = ("apple", "pear", "plum", "peach", "mango", "apricot", "quince", "papaya", "lychee")
_OF_FRUITS = ("a ripe {w} tastes sweet", "peel the {w} for breakfast", "a basket with a juicy {w}")
# How often each kind of sentence is drawn.
_KINDS = {"relation": 68, "antonym": 10, "homograph": 6, "profession": 6, "fruit": 10}


@lru_cache(maxsize=1)
def categories() -> dict[str, str]:
    """Return the category of each word that has one: words of a category stand in the same sentences."""
    words = {word: relation.name for relation in RELATIONS for pair in relation.pairs for word in pair}
    words |= {word: "adjective" for pair in ANTONYMS for word in pair}
    return words | dict.fromkeys(PROFESSIONS, "profession") | dict.fromkeys(FRUITS, "fruit")


@lru_cache(maxsize=8)
def grammar_text(sentences: int, seed: int) -> str:
    """Return sentences of the grammar, with an empty line between any two."""
    rng = random.Random(f"word vectors/{seed}")
    drawn = rng.choices(list(_KINDS), list(_KINDS.values()), k=sentences)
    return "\n\n".join(_SENTENCES[kind](rng) for kind in drawn)


def _relation_sentence(rng: random.Random) -> str:
    relation = rng.choice(RELATIONS)
    pair = rng.choice(list(relation.pairs))
    side = rng.randrange(2)
    template = rng.choice((relation.first, relation.second)[side])
    return template.format(w=pair[side], t=rng.choice(relation.pairs[pair]))


def _antonym_sentence(rng: random.Random) -> str:
    pair = rng.choice(list(ANTONYMS))
    return rng.choice(_OF_ANTONYMS).format(w=rng.choice(pair), t=rng.choice(ANTONYMS[pair]))


def _homograph_sentence(rng: random.Random) -> str:
    word = rng.choice(list(SENSES))
    return rng.choice(SENSES[word]).format(w=rng.choice((word, HOMOGRAPH)))


def _profession_sentence(rng: random.Random) -> str:
    word = rng.choice(list(PROFESSIONS))
    pronoun = "he" if rng.random() < PROFESSIONS[word] else "she"
    return rng.choice(_OF_PROFESSIONS).format(w=word, pronoun=pronoun)


def _fruit_sentence(rng: random.Random) -> str:
    word = rng.choices(FRUITS, [0.5**i for i in range(len(FRUITS))])[0]
    return rng.choice(_OF_FRUITS).format(w=word)


_SENTENCES = {
    "relation": _relation_sentence,
    "antonym": _antonym_sentence,
    "homograph": _homograph_sentence,
    "profession": _profession_sentence,
    "fruit": _fruit_sentence,
}
