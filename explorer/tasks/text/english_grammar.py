"""A small grammar of English sentences that judge something, with their true class: positive or negative.

Its words and forms are in `english_grammar.yaml`. Each form is a sentence with places for words. A form that turns
("the soup was not {a}") has the class opposite to that of its word; a plain form has the class of its word, also where
it contains "not" ("it could not be more {a}"). A fifth of the adjectives and some forms are kept for the test.
Sentences of two clauses join two simple ones.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

NEGATIVE, POSITIVE = 0, 1
_PLAIN, _TURNS = False, True
_FILE: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))


def _list(name: str) -> tuple[str, ...]:
    return tuple(_FILE[name].split())


def _by_class(name: str) -> dict[int, str]:
    """Return the words or sentences of the positive and of the negative class."""
    return {POSITIVE: _FILE[name]["positive"], NEGATIVE: _FILE[name]["negative"]}


def _by_turn(forms: dict[str, str]) -> dict[bool, str]:
    return {_PLAIN: forms["plain"], _TURNS: forms["turning"]}


ADJECTIVES = _by_class("adjectives")
NEW_ADJECTIVES = frozenset(_list("new_adjectives"))
THINGS, PLURALS = _list("things"), _list("plurals")
FORMS = {kind: _by_turn(forms) for kind, forms in _FILE["forms"].items()}
HELD_OUT = _by_turn(_FILE["held_out"])
IDIOMS = _by_class("idioms")
PERSONS = (  # with the form of "to be" in the present and the past, and whether verbs take an "s"
    *(("i", "am", "was", False),) * 6,
    *(("we", "are", "were", False), ("you", "are", "were", False), ("they", "are", "were", False)) * 2,
    *((word, "is", "was", True) for word in ["he", "she", "my-wife", "my-husband", "my-son", "my-mother", "the-boss"]),
    *((word, "are", "were", False) for word in ["people", "most-people", "my-friends", "the-children"]),
)

# How two clauses are joined, and which of them decides.
_FIRST, _SECOND, _BOTH = "first", "second", "both"
JOINTS = (
    *((text, _SECOND) for text in ("{1} but {2}",) * 8),
    *((text, _SECOND) for text in ("although {1} {2}", "though {1} {2}", "even though {1} {2}", "while {1} {2}")),
    *((text, _FIRST) for text in ("{1} although {2}", "{1} though {2}", "{1} even though {2}")),
    *((text, _BOTH) for text in ("{1} and {2}", "{1} and {2}", "{1} because {2}", "{1} {2}", "{1} so {2}")),
)
_TURNING = 0.35  # share of the simple sentences whose form turns the class: people negate less often than not
_KINDS = ("adjective",) * 8 + ("feeling",) * 2 + ("counted", "mass", "liking", "liking", "affecting", "happening")
_WORDS = {
    "adjective": (ADJECTIVES, "ab"),
    "feeling": (_by_class("feelings"), "fg"),
    "counted": (_by_class("counted"), "c"),
    "mass": (_by_class("mass"), "uw"),
    "liking": (_by_class("liking"), "v"),
    "affecting": (_by_class("affecting"), "e"),
    "happening": (_by_class("happening"), "h"),
}


@dataclass(frozen=True)
class Composed:
    """A sentence of the grammar."""

    text: str
    label: int
    turned: bool  # whether its form turns the class of its word, or one of its clauses does
    new_word: bool  # whether its adjective is kept for the test
    new_form: bool


_FREE_PLACES = {  # with which nothing agrees
    "m": _list("modifiers"),
    "x": _list("after_not"),
    "t": _list("tails"),
    "q": _list("quantities"),
    "n": THINGS,
    "ns": PLURALS,
}


class _Places(dict[str, str]):
    """The words for the places of one sentence: what agrees with another place is drawn together with it."""

    def __init__(self, rng: random.Random, label: int, kind: str, new: bool) -> None:
        super().__init__()
        self.rng, self.label, self.past = rng, label, rng.random() < 0.4
        if kind:
            _, names = _WORDS[kind]
            for name, word in zip(names, rng.sample(_known_words(kind, label, new), len(names)), strict=True):
                self[name] = word
        self._draw_subject()
        self._draw_person()

    def __missing__(self, place: str) -> str:
        """Return words for a place with which nothing agrees."""
        if place in ("m", "x") and self.rng.random() < 0.4:
            return ""
        return self.rng.choice(_FREE_PLACES[place])

    def _draw_subject(self) -> None:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.15:
            subject, plural = rng.choice(("it", "it", "it", "this", "that", "he", "she", "they")), False
            plural = subject == "they"
        else:
            plural = rng.random() < 0.2
            noun = rng.choice(PLURALS if plural else THINGS)
            articles = ("the", "the", "the", "my", "our", "your", "these" if plural else "this", "his", "her", "their")
            subject = f"{rng.choice(articles)} {noun}{rng.choice(_AFTER_NOUNS)}"
        s, one = rng.choice(THINGS), not plural
        self["s"], self["s2"] = subject, f"{rng.choice(('the', 'my', 'the other'))} {s}"
        self["is"] = ("was" if one else "were") if self.past else ("is" if one else "are")
        self["does"] = "did" if self.past else ("does" if one else "do")
        self["has"] = "had" if self.past else ("has" if one else "have")
        self["look"] = rng.choice(("look", "seem", "sound", "feel", "taste", "smell", "appear"))
        self["looks"] = f"{self['look']}s" if one else self["look"]
        if self.past:
            self["looks"] = {"feel": "felt"}.get(self["look"], f"{self['look']}ed".replace("eed", "ed"))
        for verb in "eh":
            if verb in self:
                base, third, past = self[verb].split("/")
                self[f"{verb}0"], self[f"{verb}d"] = base, past
                self[f"{verb}ed"], self[f"{verb}ing"] = past, _participle(base)
                self[verb] = past if self.past else third if one else base

    def _draw_person(self) -> None:
        self["p"], present, past, third = self.rng.choice(PERSONS)
        self["am"] = past if self.past else present
        self["do"] = "did" if self.past else "does" if third else "do"
        if "v" in self:
            base, singular, before = self["v"].split("/")
            self["v0"], self["vs"], self["ved"] = base, singular, before
            self["v"] = before if self.past else singular if third else base


_AFTER_NOUNS = ("", "", "", "", "", "", " here", " there", " of this place", " we bought", " i ordered", " in the city")


def _participle(base: str) -> str:
    return f"{base[:-1] if base.endswith('e') and base not in ('die', 'lie') else base}ing".replace("ieing", "ying")


@lru_cache
def _known_words(kind: str, label: int, new: bool) -> tuple[str, ...]:
    words = dict.fromkeys(_WORDS[kind][0][label].split())
    return tuple(word for word in words if kind != "adjective" or (word in NEW_ADJECTIVES) == new)


@lru_cache
def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


def _fill(form: str, places: _Places) -> str:
    """Return a form with its choices made and its places filled."""
    rng = places.rng
    chosen = re.sub(r"\(([^()]*)\)", lambda match: rng.choice(match[1].split("|")), form)
    text = re.sub(r"\{(\w+)\}", lambda match: places[match[1]], chosen).replace("-", " ")
    return re.sub(r"\ba (?=[aeiou])", "an ", " ".join(text.split()))


def _simple(rng: random.Random, label: int, kind: str = "", new_word: bool = False, new_form: bool = False) -> Composed:
    """Return a sentence of one clause with a class."""
    if not kind:
        kind = rng.choice(_KINDS)
    turns = rng.random() < _TURNING
    forms = _lines(HELD_OUT[turns] if new_form else FORMS[kind][turns])
    places = _Places(rng, label ^ turns, kind, new_word)
    return Composed(_fill(rng.choice(forms), places), label, turns, new_word, new_form)


def _idiom(rng: random.Random, label: int) -> Composed:
    text = _fill(rng.choice(_lines(IDIOMS[label])), _Places(rng, label, "", False))
    return Composed(text, label, bool(re.search(r"\b(not|no|never|nothing|hardly)\b", text)), False, False)


def _pair_of_clauses(rng: random.Random, label: int) -> Composed:
    """Return a sentence of two clauses: the one that decides has the class, the other the opposite or the same."""
    joint, decides = rng.choice(JOINTS)
    labels = {_FIRST: (label, 1 - label), _SECOND: (1 - label, label), _BOTH: (label, label)}[decides]
    first, second = (_idiom(rng, each) if rng.random() < 0.15 else _simple(rng, each) for each in labels)
    text = joint.replace("{1}", first.text).replace("{2}", second.text)
    return Composed(text, label, first.turned or second.turned, False, False)


def compose(count: int, seed: int) -> list[Composed]:
    """Return sentences to train on: with known words, in known forms; half of them are positive."""
    rng = random.Random(f"composed/{seed}")
    kinds = rng.choices((_simple, _idiom, _pair_of_clauses), (0.58, 0.17, 0.25), k=count)
    return [make(rng, int(rng.random() < 0.5)) for make in kinds]


def compose_new_words(count: int, seed: int) -> list[Composed]:
    """Return sentences whose adjectives training never shows, in known forms."""
    rng = random.Random(f"new words/{seed}")
    return [_simple(rng, int(rng.random() < 0.5), "adjective", new_word=True) for _ in range(count)]


def compose_new_forms(count: int, seed: int) -> list[Composed]:
    """Return sentences of known adjectives in forms that training never shows."""
    rng = random.Random(f"new forms/{seed}")
    return [_simple(rng, int(rng.random() < 0.5), "adjective", new_form=True) for _ in range(count)]
