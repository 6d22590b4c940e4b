"""The data of the task sentiment: which sentences are learned from, and which are held out."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from explorer.environment import environment
from explorer.errors import CorpusMissing, NeedsText, TextError
from explorer.tasks.own_sentences import Language, language_of
from explorer.tasks.sentiment import corpus
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sentiment.data import Sentiment, sentiment_data
from explorer.tasks.text import corpora
from tests import needs

SMALL = SentimentConfig(reviews=1, composed=100, words=0)
TABLE = "text,label\nA zzyq film,Pos\nwatch it twice,pos\nnever again,negative\nit isn't zzyq,Negative\n"


@needs.sentences
def test_the_data_are_the_same_as_ever_and_nothing_of_the_test_is_learned_from() -> None:
    data = sentiment_data(SMALL)
    digest = hashlib.sha256("\n".join(data.vocabulary.tokens).encode())
    for part in (data.training, *data.validation.values(), *data.test.values()):
        digest.update(repr([tuple(each) for each in part]).encode())
    assert digest.hexdigest()[:16] == "ed01340f97209f2b"
    learned = {each.ids for each in data.training}
    held_out = {name: {each.ids for each in part} for name, part in (data.test | data.validation).items()}
    assert max(len(learned & ids) / len(ids) for ids in held_out.values()) < 0.01  # short reviews occur twice
    assert max(len(held_out["reviews"] & ids) for name, ids in held_out.items() if "val" in name) < 5
    assert all(0.4 < data.majority(part) < 0.65 for part in data.test)
    assert Language.from_json(language_of(data).to_json()) == language_of(data)


@needs.sentences
@pytest.mark.parametrize(("times", "composed", "rated"), [(2, 0, 0), (0, 70, 0), (0, 0, 3)])
def test_each_part_is_learned_from_as_often_as_the_configuration_says(times: int, composed: int, rated: int) -> None:
    reviews, words = len(corpus.read_reviews()), len(corpus.read_words())
    count = times * (reviews - 2 * (reviews // 10)) + composed + rated * words
    assert len(Sentiment(SentimentConfig(reviews=times, composed=composed, words=rated)).training) == count


@needs.sentences
def test_own_sentences_are_learned_from_like_reviews_by_whoever_may_read_them() -> None:
    own = SentimentConfig(reviews=2, composed=0, words=0, corpus="own", text=corpora.store_text(TABLE))
    more = len(sentiment_data(own).training) - len(Sentiment(SentimentConfig(reviews=2, composed=0, words=0)).training)
    assert more == 2 * 4 and [each.label for each in sentiment_data(own).own] == [1, 1, 0, 0]
    assert sentiment_data(own).vocabulary == sentiment_data(SMALL).vocabulary
    with corpora.read_as("somebody else"), pytest.raises(NeedsText):
        sentiment_data(own)


def test_other_labels_are_refused() -> None:
    text = corpora.store_text(TABLE.lower().replace("negative", "so so"))
    with pytest.raises(TextError, match="“so so” is neither positive nor negative"):
        sentiment_data(SentimentConfig(corpus="own", text=text))


def test_a_file_is_read_from_the_folder_or_from_the_archive_if_its_checksum_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = b"1\t2.5\tIt isn't bad.\n2\t0.1\tIt exists.\n3\t-3\tNever again!\n"
    words = b"awful\t-2.0\t0.5\nfine\t1.0\t0.5\n:)\t2.0\t1.0\n"
    files = {"reviews.txt": lines, "words.txt": words}
    sha = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(corpus, "_REVIEWS", {"reviews.txt": sha["reviews.txt"]})
    monkeypatch.setattr(corpus, "_WORDS", ("words.txt", sha["words.txt"]))
    monkeypatch.setenv("LINEAGE_DATA_DIR", str(tmp_path))
    (tmp_path / "sentiment").mkdir()
    (tmp_path / "sentiment" / "reviews.txt").write_bytes(lines)
    assert corpus.read_reviews() == ((("it", "is", "not", "bad"), 1), (("never", "again"), 0))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        (member := tarfile.TarInfo("hutto_ICWSM_2014/words.txt")).size = len(words)
        archive.addfile(member, io.BytesIO(words))
    (tmp_path / corpus.ARCHIVE.name).write_bytes(packed.getvalue())
    monkeypatch.setattr(
        corpus, "ARCHIVE", corpus.ARCHIVE._replace(sha256=hashlib.sha256(packed.getvalue()).hexdigest())
    )
    assert corpus.read_words() == ((("awful",), 0), (("fine",), 1))
    (tmp_path / "sentiment" / "reviews.txt").write_bytes(lines + b"4\t4\tforged\n")
    corpus._parse_reviews.cache_clear()
    with pytest.raises(CorpusMissing, match="not the published one") as raised:
        corpus.read_reviews()
    assert str(environment().data_dir) not in str(raised.value)
