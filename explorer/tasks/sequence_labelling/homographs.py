"""A small generated language with four homographs, for the tasks word sense and masked word.

Every sentence has one of eight topics. It contains two nouns of its topic and, in one of ten frames, a word that is
either a homograph (“bank”) or an unambiguous synonym of one of its senses (“lender”, “shore”). The frames are the same
for all topics, and a homograph occurs wherever a synonym does: only the nouns reveal its sense. Two of the eight nouns
of each topic never occur with a homograph in training: they are the "new cues".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from explorer.array_types import Int
from explorer.lazy_libraries import torch
from explorer.models.settings import setting
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.sequence_labelling.rows import pad_rows
from explorer.tokenization.words import MAX_WORDS, Words

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
TRAINED_CUES = 6  # nouns of a topic, of eight, that occur with homographs in training; the others are new cues
WORD_SLOT = "X"  # in a frame: the homograph or the synonym
FIRST_NOUN_SLOT = "A"  # in a frame: the two nouns
SECOND_NOUN_SLOT = "B"
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
_FUNCTION_WORDS = tuple(
    sorted({word for frame in FRAMES for word in frame} - {WORD_SLOT, FIRST_NOUN_SLOT, SECOND_NOUN_SLOT})
)
WORDS = (*_FUNCTION_WORDS, *HOMOGRAPHS, *SYNONYMS.values(), *(noun for nouns in NOUNS.values() for noun in nouns))

VOCABULARY = Words((*WORDS, HIDDEN, PAD), first=HIDDEN, last=HIDDEN, padding=PAD)  # also parses typed sentences


@dataclass(frozen=True)
class HomographConfig(LabellingConfig):
    """The number of training sentences."""

    sentences: int = setting(
        400, "Sentences to learn from; each seed has its own.", 1, 10_000, label="Training sentences"
    )

    vocabulary = (*WORDS, HIDDEN, PAD)
    max_length = MAX_WORDS


@dataclass(frozen=True)
class HomographSentence:
    """A sentence of the language and its topic."""

    words: tuple[str, ...]
    topic: str
    position: int  # of the homograph or the synonym
    content_positions: tuple[int, ...]  # of that word and of the two nouns

    @property
    def ambiguous(self) -> bool:
        """Whether the word is a homograph."""
        return self.words[self.position] in SENSES

    @property
    def other_topic(self) -> str:
        """The topic of the other sense of a homograph."""
        return next(topic for topic in SENSES[self.words[self.position]] if topic != self.topic)


def build_sentence(frame: int, topic: str, ambiguous: bool, first: str, second: str) -> HomographSentence:
    """Return a sentence with two nouns of its topic, and with the homograph if `ambiguous`, otherwise the synonym."""
    word = HOMOGRAPH_OF[topic] if ambiguous else SYNONYMS[topic]
    slots = {WORD_SLOT: word, FIRST_NOUN_SLOT: first, SECOND_NOUN_SLOT: second}
    content_positions = [i for i, each in enumerate(FRAMES[frame]) if each in slots]
    words = tuple(slots.get(each, each) for each in FRAMES[frame])
    return HomographSentence(words, topic, FRAMES[frame].index(WORD_SLOT), tuple(content_positions))


def word_ids(words: Sequence[str]) -> list[int]:
    """Return the ids of words in the vocabulary."""
    return [VOCABULARY.id(word) for word in words]


PADDING = VOCABULARY.id(PAD)


def sentence_ids(sentences: Iterable[HomographSentence]) -> Int[torch.Tensor, "sentences time"]:
    """Return the ids of the words of sentences, padded to the longest one."""
    return pad_rows((word_ids(each.words) for each in sentences), PADDING)


@lru_cache(maxsize=64)
def training_sentences(count: int, seed: int) -> tuple[HomographSentence, ...]:
    """Return the fixed training sentences of a seed: about half have a homograph, never with a new cue."""
    rng = generator(seed, "meanings/own")
    return tuple(draw_sentence(rng, bool(torch.rand((), generator=rng) < 0.5)) for _ in range(count))


@lru_cache(maxsize=8)
def evaluation_sentences(count: int, ambiguous: bool, new_cues: bool = False) -> tuple[HomographSentence, ...]:
    """Return sentences for evaluation, equal for all models; `new_cues`: with nouns never trained with homographs."""
    rng = generator(0, f"meanings/asked/{ambiguous}/{new_cues}")
    return tuple(draw_sentence(rng, ambiguous, new_cues) for _ in range(count))


def draw_sentence(rng: torch.Generator, ambiguous: bool, new_cues: bool = False) -> HomographSentence:
    """Return a random sentence. The nouns of a homograph are trained ones, or new cues if `new_cues`."""
    frame, topic = _draw_index(len(FRAMES), rng), TOPICS[_draw_index(len(TOPICS), rng)]
    nouns = NOUNS[topic]
    candidates = nouns[TRAINED_CUES:] if new_cues else nouns[:TRAINED_CUES] if ambiguous else nouns
    first = _draw_index(len(candidates), rng)
    second = (first + 1 + _draw_index(len(candidates) - 1, rng)) % len(candidates)
    return build_sentence(frame, topic, ambiguous, candidates[first], candidates[second])


def _draw_index(count: int, rng: torch.Generator) -> int:
    return int(torch.randint(count, (), generator=rng))


def sample_sentences(config: HomographConfig, seed: int, rng: torch.Generator, size: int) -> list[HomographSentence]:
    """Return a random batch of the training sentences of a seed."""
    sentences = training_sentences(config.sentences, seed)
    return [sentences[i] for i in torch.randint(len(sentences), (size,), generator=rng).tolist()]
