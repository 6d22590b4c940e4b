"""What the page on word vectors asks of a run: neighbours, analogies, a map, and what the grammar makes fail."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from explorer.errors import InvalidSetting
from explorer.inspection.words import word_vectors
from explorer.inspection.words.word_vectors import WordTable, load_table
from explorer.run_store.store import StoredRun
from explorer.tasks.word_vectors_grammar import ANTONYMS, HOMOGRAPH, PROFESSIONS, SENSES
from explorer.training.record import Record

MAX_SHOWN = 24  # words of the map


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of a word in one run."""

    word: str
    candidates: list[word_vectors.Candidate]
    problem: str = ""  # why an example is shown instead; empty if the word is known


def find_neighbours(run: StoredRun | Record, word: str, example: str) -> Neighbours:
    """Return the neighbours of a word, or of the example if the word is unknown. Raises InvalidSetting, DamagedRun."""
    table = load_table(run)
    word = word or table.words[min(20, len(table.words) - 1)]  # of a text without an example
    (word,), problem = _known_words(table, (word,), (example,))
    return Neighbours(word, word_vectors.neighbours(table, word), problem)


def _known_words(table: WordTable, words: tuple[str, ...], examples: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the words if all have vectors; otherwise the examples, and a sentence about that."""
    try:
        table.ids(words)
        return words, ""
    except InvalidSetting as error:
        if words == examples or not all(examples):
            raise
        return examples, f"{error} Shown is “{', '.join(examples)}”."


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of one run to an analogy, and its accuracy on all known questions."""

    question: tuple[str, str, str]
    analogy: word_vectors.Analogy
    accuracy: word_vectors.AnalogyAccuracy | None
    planted: bool
    words: int
    problem: str = ""  # why examples are shown instead; empty if the words are known


def answer_analogy(run: StoredRun | Record, question: tuple[str, str, str], examples: tuple[str, str, str]) -> Answers:
    """Return the answers to (a, b, c), or to the examples for an unknown word. Raises InvalidSetting, DamagedRun."""
    table = load_table(run)
    (a, b, c), problem = _known_words(table, question, examples)
    found, accuracy = word_vectors.analogy(table, a, b, c), word_vectors.analogy_accuracy(table)
    return Answers((a, b, c), found, accuracy, table.task.corpus == "grammar", len(table.words) - 1, problem)


@dataclass(frozen=True, eq=False)
class WordMap:
    """The map of one run, and messages about words that are left out."""

    projection: word_vectors.Projection
    seed: int
    width: int
    problems: tuple[str, ...]


def map_words(run: StoredRun | Record, words: tuple[str, ...], replica: int, word: str = "") -> WordMap:
    """Return the known ones of the words on a map; the most frequent words if they are too few. Raises DamagedRun.

    The neighbours of `word`, if it is known, are added while there is room.
    """
    table = load_table(run)
    words = words or table.words[20:40]  # of a text without an example
    unknown = [word for word in words if word not in table.index]
    problems = [word_vectors.unknown_word_message(word, table.words[1:]) for word in unknown]
    known = [word for word in words if word in table.index]
    if len(known) > MAX_SHOWN:
        problems.append(f"{len(known)} words are too many: the first {MAX_SHOWN} are shown.")
    if len(known) < 3:
        problems.append("A map needs at least three words; the most frequent ones are shown.")
        known = list(table.words[1 : MAX_SHOWN + 1])
    replica = min(replica, run.config.replicas - 1)
    near = [word, *(each.word for each in word_vectors.neighbours(table, word))] if word in table.index else []
    shown = list(dict.fromkeys([*known[:MAX_SHOWN], *near]))[:MAX_SHOWN]
    projection = word_vectors.project(table, shown, replica)
    return WordMap(projection, run.config.seed + replica, table.unit.shape[-1], tuple(problems))


@dataclass(frozen=True, eq=False)
class Failures:
    """What the vectors of the grammar get wrong."""

    antonyms: list[word_vectors.PairSimilarity]
    senses: list[word_vectors.PairSimilarity]  # of the homograph to the word of each sense
    between: word_vectors.PairSimilarity  # of the words of both senses
    leans: tuple[Float[ndarray, "replicas words"], Float[ndarray, "replicas words"]]
    groups: tuple[list[str], list[str]]  # professions that the text says “he” of more often, and “she”


def find_failures(run: StoredRun | Record) -> Failures:
    """Return what is planted in the grammar to fail, as a run on it has learned it. Raises DamagedRun."""
    table = load_table(run)
    groups = [[word for word, share in PROFESSIONS.items() if (share > 0.5) is he] for he in (True, False)]
    leans = [word_vectors.lean(table, group, ("he", "she")) for group in groups]
    return Failures(
        [word_vectors.pair_similarity(table, *pair) for pair in ANTONYMS],
        [word_vectors.pair_similarity(table, HOMOGRAPH, sense) for sense in SENSES],
        word_vectors.pair_similarity(table, *SENSES),
        (leans[0], leans[1]),
        (groups[0], groups[1]),
    )
