"""The rated sentences and words that the task `sentiment` learns from (Hutto and Gilbert 2014, MIT licence).

They are the ground truth of VADER, "A parsimonious rule-based model for sentiment analysis of social media text"
(ICWSM 2014): sentences of film and product reviews with the mean rating of twenty people, and rated words. They are not
in the repository: they are read from LINEAGE_DATA_DIR or from the cache, or downloaded once.
"""

from __future__ import annotations

import io
import re
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from explorer.environment import environment
from explorer.tasks.text.corpora import PublishedFile, read_published
from explorer.tokenization.english import split_english

ARCHIVE = PublishedFile(
    "The corpus of rated sentences",
    "hutto_ICWSM_2014.tar.gz",
    "https://raw.githubusercontent.com/cjhutto/vaderSentiment/master/additional_resources/hutto_ICWSM_2014.tar.gz",
    "d5bb07d87474b3eb8d30b4deccbc23f19d742a6c5718fbacc65485b70b95c5fa",
    "The included runs need no corpus.",
)
_REVIEWS = {
    "movieReviewSnippets_GroundTruth.txt": "c8293b0d942e90e223ea2c0955d969040d1a1be514a978b9af0698940bd13350",
    "amazonReviewSnippets_GroundTruth.txt": "11a9807a0974a2506a2d3b4851eaf69b3d6d20688ce4923adda2312a4f6dd6c2",
}
_WORDS = "vader_sentiment_lexicon.txt", "88645aa949987662301d41a3f26b950f41b239a4de4e0d4aee84857bf242e35d"
LEAST_RATING = 0.5  # of a review, on either side of zero; ratings go from -4 to 4


class Rated(NamedTuple):
    """A sentence with its class, 0 (negative) or 1 (positive)."""

    words: tuple[str, ...]
    label: int


def read_reviews() -> tuple[Rated, ...]:
    """Return the sentences of reviews whose mean rating is beyond LEAST_RATING. Raises CorpusMissing."""
    return _parse_reviews(environment().data_dir, environment().cache)


def read_words() -> tuple[Rated, ...]:
    """Return the rated words. Raises CorpusMissing."""
    return _parse_words(environment().data_dir, environment().cache)


@lru_cache(maxsize=1)
def _parse_reviews(data_dir: Path | None, cache: Path) -> tuple[Rated, ...]:
    found = []
    for name, sha in _REVIEWS.items():
        for line in _read(name, sha, data_dir, cache).decode("utf-8", "replace").splitlines():
            _, rating, text = line.split("\t", 2)
            if abs(float(rating)) > LEAST_RATING and (words := split_english(text)):
                found.append(Rated(words, int(float(rating) > 0)))
    return tuple(found)


@lru_cache(maxsize=1)
def _parse_words(data_dir: Path | None, cache: Path) -> tuple[Rated, ...]:
    lines = (line.split("\t") for line in _read(*_WORDS, data_dir, cache).decode("latin-1").splitlines())
    return tuple(
        Rated(split_english(word), int(float(rating) > 0))
        for word, rating, *_ in lines
        if re.fullmatch("[a-z]+(-[a-z]+)*", word)  # the others are emoticons
    )


def _read(name: str, sha: str, data_dir: Path | None, cache: Path) -> bytes:
    """Return a file of the archive: one in the folder `sentiment` of LINEAGE_DATA_DIR, or of the archive itself."""
    file = ARCHIVE._replace(name=f"sentiment/{name}", sha256=sha)
    if data_dir and (data_dir / file.name).exists():
        return read_published(file, data_dir, cache)
    with tarfile.open(fileobj=io.BytesIO(read_published(ARCHIVE, data_dir, cache))) as archive:
        member = archive.extractfile(f"hutto_ICWSM_2014/{name}")
        assert member  # the checksum of the archive is right
        return member.read()
