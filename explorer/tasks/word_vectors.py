"""The word vectors task: the words of a text, and random batches of words with their neighbours and noise words.

`word_vectors_grammar.py` makes the text of the grammar.

A word w with the share f(w) of the text is kept with the probability min(1, sqrt(t / f(w))) (Mikolov et al. 2013b,
eq. 5); here a pair of neighbours is used with the product of both probabilities, so that skipping a word does not bring
others into the window (Levy, Goldberg and Dagan 2015 call this "clean" subsampling). The distance of a neighbour is at
most a number that is drawn evenly from 1 to the window, so near neighbours are used more often. Noise words are drawn
with probabilities proportional to count(w)^0.75 (section 2.2); like the formula, and unlike the program of the authors,
this allows the true neighbour among them.

Every step draws its batch from the seed, the order and the step alone, so that a training can go on from any step.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

from explorer.array_types import Bool, Float, Int
from explorer.byte_cache import Once
from explorer.errors import TextError
from explorer.lazy_libraries import np, torch
from explorer.models.settings import setting
from explorer.seeds import generator
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig, check_own_text, own_text_setting
from explorer.tasks.word_vectors_grammar import grammar_text
from explorer.tokenization.words import SPLIT_AT_SPACES, fold_variants, lacks_spaces

VERSION = 1


@dataclass(frozen=True)
class WordVectorsConfig:
    """Which words (in small letters) of which text are predicted from which neighbours in the same paragraph."""

    corpus: Literal["grammar", "tinyshakespeare", "own"] = setting(
        "grammar", "The text: sentences of a grammar with planted analogies, Tiny Shakespeare, or your own."
    )
    text: str = own_text_setting("SHA-256 of your own text; empty for every other corpus.")
    sentences: int = setting(
        10_000, "Sentences that the grammar makes.", 100, 100_000, label="Sentences of the grammar"
    )
    corpus_seed: int = setting(
        0, "Seed of the sentences that the grammar makes.", 0, 2**31 - 1, label="Seed of the sentences"
    )
    min_count: int = setting(
        1, "Words that occur less often are left out.", 1, 1_000, label="Least occurrences of a word"
    )
    vocabulary: int = setting(
        5_000, "Words that get a vector: the most frequent ones.", 10, 20_000, label="Size of the vocabulary, at most"
    )
    window: int = setting(
        5, "Neighbours on each side: a distance up to this is drawn.", 1, 20, label="Window, in words on each side"
    )
    subsampling: float = setting(
        0.01, "Share of the text above which a word is skipped at random. 0: none.", 0, 1, label="Subsampling threshold"
    )
    negatives: int = setting(5, "Noise words for each true neighbour.", 1, 50, label="Noise words")

    def __post_init__(self) -> None:
        check_own_text(self.corpus, self.text, "text")


UNKNOWN = "<unk>"  # the first row of the vectors; it stands for no word of the text, and is never drawn
NOISE_POWER = 0.75
_MIN_WORDS = 3  # different ones
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


class Batch(NamedTuple):
    """Rows of a batch: the word of the first column of `words` is true, the others are noise.

    For skip-gram `inputs` is the word in the middle and `words` starts with one neighbour; for CBOW `inputs` are the
    neighbours, as many as `present` says, and `words` starts with the word in the middle.
    """

    inputs: Int[torch.Tensor, "*replicas batch inputs"]
    present: Float[torch.Tensor, "*replicas batch inputs"]
    words: Int[torch.Tensor, "*replicas batch candidates"]


class WordData:
    """A text as ids of its words, with their counts and the probabilities that follow from these."""

    def __init__(self, config: WordVectorsConfig, text: str) -> None:
        self.config = config
        paragraphs = [_WORD.findall(part) for part in re.split(r"\n\s*\n", fold_variants(text.lower()))]
        counted = Counter(word for part in paragraphs for word in part)
        frequent = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        chosen = [(word, count) for word, count in frequent if count >= config.min_count][: config.vocabulary]
        if len(chosen) < _MIN_WORDS:
            raise TextError(
                f"Only {len(chosen)} different words of this text occur at least {config.min_count} times; at least "
                f"{_MIN_WORDS} are needed.",
                SPLIT_AT_SPACES if lacks_spaces(counted) else "Give more text, or count rarer words (min_count).",
            )
        self.words = (UNKNOWN, *(word for word, _ in chosen))
        self.index = {word: id for id, word in enumerate(self.words)}
        self.counts = np.array([0, *(count for _, count in chosen)])
        known = [[self.index[word] for word in part if word in self.index] for part in paragraphs]
        self.ids = torch.tensor([id for part in known for id in part])
        self.paragraphs = torch.repeat_interleave(torch.arange(len(known)), torch.tensor([len(part) for part in known]))
        self.keep = torch.from_numpy(keep_probability(self.counts, config.subsampling)).float()
        self._noise = torch.from_numpy(noise_probability(self.counts).cumsum())
        if not bool((self.paragraphs[1:] == self.paragraphs[:-1]).any()):
            raise TextError("No two words of this text are neighbours: each stands alone between empty lines.")

    def draw_pairs(
        self, size: int, rng: torch.Generator
    ) -> tuple[Int[torch.Tensor, " size"], Int[torch.Tensor, " size"]]:
        """Return words, and a neighbour of each."""
        window, parts, missing = self.config.window, [], size
        distances = torch.arange(window, 0, -1).repeat_interleave(torch.arange(1, window + 1))
        while missing > 0:
            middle = torch.randint(len(self.ids), (4 * missing,), generator=rng)
            distance = distances[torch.randint(len(distances), middle.shape, generator=rng)]
            other = middle + distance * (2 * torch.randint(2, middle.shape, generator=rng) - 1)
            kept = self._is_neighbour(middle, other)
            word, neighbour = self.ids[middle], self.ids[other.clamp(0, len(self.ids) - 1)]
            kept &= torch.rand(middle.shape, generator=rng) < self.keep[word] * self.keep[neighbour]
            parts.append((word[kept][:missing], neighbour[kept][:missing]))
            missing -= len(parts[-1][0])
        words, neighbours = (torch.cat(each) for each in zip(*parts, strict=True))
        return words, neighbours

    def draw_windows(
        self, size: int, rng: torch.Generator
    ) -> tuple[Int[torch.Tensor, " size"], Int[torch.Tensor, "size neighbours"], Bool[torch.Tensor, "size neighbours"]]:
        """Return words, the ids around each, and which of these are neighbours; each has at least one."""
        window, parts, missing = self.config.window, [], size
        offsets = torch.tensor([*range(-window, 0), *range(1, window + 1)])
        while missing > 0:
            middle = torch.randint(len(self.ids), (3 * missing,), generator=rng)
            reach = torch.randint(1, window + 1, middle.shape, generator=rng)
            other = middle[:, None] + offsets
            word, around = self.ids[middle], self.ids[other.clamp(0, len(self.ids) - 1)]
            present = self._is_neighbour(middle[:, None].expand_as(other), other) & (offsets.abs() <= reach[:, None])
            present &= torch.rand(present.shape, generator=rng) < self.keep[around]
            kept = present.any(dim=1) & (torch.rand(middle.shape, generator=rng) < self.keep[word])
            parts.append(tuple(each[kept][:missing] for each in (word, around, present)))
            missing -= len(parts[-1][0])
        words, around, present = (torch.cat(each) for each in zip(*parts, strict=True))
        return words, around, present

    def draw_noise(self, size: int, rng: torch.Generator) -> Int[torch.Tensor, "size negatives"]:
        """Return noise words."""
        drawn = torch.rand(size, self.config.negatives, generator=rng, dtype=torch.float64)
        return torch.searchsorted(self._noise, drawn, right=True).clamp_max(len(self.words) - 1)

    def _is_neighbour(
        self, middle: Int[torch.Tensor, "*batch"], other: Int[torch.Tensor, "*batch"]
    ) -> Bool[torch.Tensor, "*batch"]:
        inside = other.clamp(0, len(self.ids) - 1)
        return (inside == other) & (self.paragraphs[inside] == self.paragraphs[middle])


def keep_probability(counts: Int[np.ndarray, " words"], threshold: float) -> Float[np.ndarray, " words"]:
    """Return the probability with which an occurrence of each word is used; 1 for all if the threshold is 0."""
    if not threshold:
        return np.ones(len(counts))
    share = np.maximum(counts, 1) / counts.sum()
    return np.minimum(1.0, np.sqrt(threshold / share))


def noise_probability(counts: Int[np.ndarray, " words"]) -> Float[np.ndarray, " words"]:
    """Return the probability of each noise word."""
    powers = counts**NOISE_POWER
    return powers / powers.sum()


def draw_batch(data: WordData, seed: int, step: str, size: int, predicts_neighbours: bool) -> Batch:
    """Return a replica's batch, named by `step`: a word predicts a neighbour (skip-gram) or is predicted (CBOW)."""
    rng = generator(seed, f"word-vectors/{step}")
    if predicts_neighbours:
        word, neighbour = data.draw_pairs(size, rng)
        inputs, true = word[:, None], neighbour
        present = torch.ones(inputs.shape)
    else:
        true, inputs, kept = data.draw_windows(size, rng)
        present = kept.float()
    return Batch(inputs, present, torch.cat([true[:, None], data.draw_noise(size, rng)], dim=1))


def load_text(config: WordVectorsConfig) -> str:
    """Return the text of a configuration. Raises NeedsText or CorpusMissing if it is not available."""
    if config.corpus == "grammar":
        return grammar_text(config.sentences, config.corpus_seed)
    return corpora.load_text(TextConfig(corpus=config.corpus, text=config.text))


_data: Once[WordVectorsConfig, WordData] = Once()


def word_data(config: WordVectorsConfig) -> WordData:
    """Return the words of a text, computed once. Raises TextError, NeedsText or CorpusMissing."""
    text = load_text(config)  # the words are shared by all visitors; only who may read the text gets them
    return _data.get(config, lambda: WordData(config, text))
