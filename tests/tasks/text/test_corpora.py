from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.environment import environment
from explorer.errors import CorpusMissing, NeedsText, TextError
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import TINYSHAKESPEARE, drop_text, load_text, store_text, validated_text
from tests import needs

Patch = pytest.MonkeyPatch
PLAY = "First Citizen:\nBefore we proceed any further, hear me speak.\n"


# Tiny Shakespeare: a short play replaces the text, and a local server its address


def replace_file(monkeypatch: Patch, **changes: str) -> None:
    monkeypatch.setattr(corpora, "_TINYSHAKESPEARE", corpora._TINYSHAKESPEARE._replace(**changes))


@pytest.fixture
def download_server(monkeypatch: Patch) -> Iterator[SimpleNamespace]:
    """The content that the server returns, and its number of requests."""
    download_server = SimpleNamespace(content=PLAY.encode(), requests=0)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            download_server.requests += 1
            self.send_response(200 if download_server.content else 404)
            self.end_headers()
            self.wfile.write(download_server.content)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    replace_file(monkeypatch, url=f"http://127.0.0.1:{server.server_port}/input.txt")
    yield download_server
    with warnings.catch_warnings():  # pooch leaves the connection of a refused download to the garbage collector
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def play(tmp_path: Path, monkeypatch: Patch) -> Iterator[Path]:
    """An empty folder for LINEAGE_DATA_DIR, with an empty cache next to it."""
    replace_file(monkeypatch, sha256=hashlib.sha256(PLAY.encode()).hexdigest())
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("LINEAGE_DATA_DIR", str(folder))
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    corpora.reset()
    yield folder
    corpora.reset()


def test_a_text_is_read_from_the_data_folder_or_the_cache_or_downloaded_once(
    play: Path, download_server: SimpleNamespace, monkeypatch: Patch
) -> None:
    (play / TINYSHAKESPEARE).write_text(PLAY)
    assert load_text(TextConfig()) == PLAY
    assert download_server.requests == 0 and not environment().cache.exists()
    (play / TINYSHAKESPEARE).unlink()
    corpora.reset()
    assert load_text(TextConfig()) == PLAY
    assert [file.name for file in environment().cache.iterdir()] == [TINYSHAKESPEARE]
    monkeypatch.delenv("LINEAGE_DATA_DIR")  # it is optional
    download_server.content = b"something else"
    corpora.reset()
    assert load_text(TextConfig()) == PLAY
    assert download_server.requests == 1
    download_server.content = PLAY.encode()
    (environment().cache / TINYSHAKESPEARE).write_bytes(PLAY.encode()[:-7])  # a damaged download
    corpora.reset()
    assert load_text(TextConfig()) == PLAY
    assert download_server.requests == 2


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_why_the_text_is_not_there_is_said_in_one_sentence(
    play: Path, download_server: SimpleNamespace, monkeypatch: Patch, snapshot: SnapshotAssertion
) -> None:
    def problem() -> str:
        with pytest.raises(CorpusMissing) as raised:
            load_text(TextConfig())
        return str(raised.value).replace(str(play), "FOLDER")

    problems = {}
    (play / TINYSHAKESPEARE).write_text(PLAY + "!")
    problems["another text in the folder"] = problem()
    (play / TINYSHAKESPEARE).unlink()
    (play / TINYSHAKESPEARE).mkdir()
    problems["a folder of this name"] = problem()
    assert download_server.requests == 0
    (play / TINYSHAKESPEARE).rmdir()
    for name, content in (("another text is downloaded", b"a stranger's text"), ("the download is refused", b"")):
        download_server.content = content
        problems[name] = problem()
        assert list(environment().cache.iterdir()) == []
    download_server.content = PLAY.encode()
    (play / "file").write_text("")
    with monkeypatch.context() as changed:
        changed.setenv("LINEAGE_CACHE", str(play / "file" / "cache"))
        problems["the cache cannot be written"] = problem()
        replace_file(changed, url="http://127.0.0.1:9/input.txt")
        changed.setenv("LINEAGE_CACHE", str(play / "cache"))
        problems["no connection"] = problem()
    assert load_text(TextConfig()) == PLAY  # a failure is not remembered
    assert problems == snapshot


@needs.tiny_shakespeare
def test_the_published_text_has_its_known_size() -> None:
    text = load_text(TextConfig())
    assert len(text) == 1_115_394
    assert hashlib.sha256(text.encode()).hexdigest() == corpora.TINYSHAKESPEARE_SHA256


# Texts made by a rule


@pytest.mark.parametrize(
    ("corpus", "size", "seed", "fingerprint"),
    [
        ("toy", 1_009, 0, "e18c4c08729cffa8"),
        ("repeats", 5_003, 7, "a888a059c2b91de5"),
        ("brackets", 5_003, 0, "25c35f64c4c0aec0"),
        ("brackets", 5_003, 7, "0836044134ad1cce"),
    ],
)
def test_generated_texts_are_deterministic(corpus: Any, size: int, seed: int, fingerprint: str) -> None:
    text, longer = (load_text(TextConfig(corpus=corpus, size=each, corpus_seed=seed)) for each in (size, size + 97))
    assert len(text) == size
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == fingerprint
    assert longer.startswith(text)  # a longer one only goes on


def test_closing_marks_of_worked_examples() -> None:
    expected = {"a(bc[d]e)": [(6, 2), (8, 7)], '""': [(1, 1)], '("a")': [(3, 2), (4, 4)]}
    expected[")a("] = []  # a piece of a text: its beginning is lost
    assert {text: corpora.find_closing_marks(text) for text in expected} == expected


# A visitor's own text


def own(sha: str) -> TextConfig:
    return TextConfig(corpus="own", text=sha)


def test_stored_texts_are_found_by_their_sha_and_the_least_recently_used_is_dropped_first(monkeypatch: Patch) -> None:
    text = "to be or not to be, שלום 🙂"
    sha = store_text(text)
    assert sha == hashlib.sha256(text.encode()).hexdigest() and load_text(own(sha)) == text
    drop_text(sha)
    with pytest.raises(NeedsText):
        load_text(own(sha))
    drop_text(sha)  # twice is no mistake
    with pytest.raises(NeedsText, match=r"needs your text.*abababababab.*Paste or upload the same text again"):
        load_text(own("ab" * 32))
    monkeypatch.setattr(corpora, "_own_texts", corpora._new_text_store(3_500))
    first, second, third = (store_text(letter * 1_000) for letter in "abc")
    assert load_text(own(first))[0] == "a"  # used
    fourth = store_text("d" * 1_000)
    with pytest.raises(NeedsText):
        load_text(own(second))
    assert [load_text(own(sha))[0] for sha in (first, third, fourth)] == ["a", "c", "d"]
    large = store_text("🙂" * 2_000)  # above the limit: it is stored alone until the next one
    assert load_text(own(large))[0] == "🙂"
    with pytest.raises(NeedsText):
        load_text(own(fourth))


def test_texts_can_be_stored_from_many_threads(monkeypatch: Patch) -> None:
    """Texts may be dropped while others are stored; the byte count of the store must stay correct."""
    texts = corpora._new_text_store(600)  # three texts
    monkeypatch.setattr(corpora, "_own_texts", texts)

    def visit(visitor: int) -> None:
        stored = [store_text(f"{visitor} {turn} " * 20) for turn in range(40)]
        for sha in stored:
            with contextlib.suppress(NeedsText):  # the others have displaced it
                assert hashlib.sha256(load_text(own(sha)).encode()).hexdigest() == sha
        drop_text(stored[-1])

    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as visitors:
            list(visitors.map(visit, range(6)))
    finally:
        sys.setswitchinterval(switching)
    store_text("the last one")
    assert 0 < texts.currsize == sum(map(sys.getsizeof, texts.values())) <= 600


LONG = "Once upon a time there was a text. "


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("\ufeff" + LONG, LONG),
        (b"\xef\xbb\xbf" + LONG.encode(), LONG),
        ("one line\r\nanother line\rand a third", "one line\nanother line\nand a third"),
        ("tabs\tare kept, pages\x0c are\x1b not\x7f\x85", "tabs\tare kept, pages  are not "),
        ("👩‍👩‍👧 family, 🏳️‍🌈 flag, é and e\u0301", "👩‍👩‍👧 family, 🏳️‍🌈 flag, é and e\u0301"),
    ],
    ids=["mark in text", "mark in bytes", "line ends", "control", "emoji"],
)
def test_validated_text_normalizes_its_input(content: str | bytes, text: str) -> None:
    assert validated_text(content) == text


UNUSABLE = {
    "three": "abc", "one": b"a", "none": "", "control only": "\x01" * 40, "cut utf-16": LONG.encode("utf-16")[:-1],
    "utf-16 bare": LONG.encode("utf-16-be"), "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "cp1251": ("text,label\n" + "Это хорошо,да\n" * 4).encode("cp1251"), "zero": LONG + "\0", "half": LONG + "\ud83d",
    "cp1250": (LONG + "był żółty").encode("cp1250"),
}  # fmt: skip


def test_unusable_texts_raise_one_sentence(snapshot: SnapshotAssertion) -> None:
    messages = {}
    for name, content in UNUSABLE.items():
        with pytest.raises(TextError) as raised:
            validated_text(content)
        messages[name] = str(raised.value)
        with pytest.raises(TextError, match=r"^“ my play\.txt” "):
            validated_text(content, "\nmy play.txt")
    assert messages == snapshot


def test_a_file_of_windows_is_read_with_a_warning_and_one_of_utf_16_without() -> None:
    with pytest.warns(UserWarning, match="read as Windows-1252"):
        assert validated_text((LONG + "Erlkönig – isn’t 5 €").encode("cp1252")) == LONG + "Erlkönig – isn’t 5 €"
    assert validated_text((LONG + "Ελλάδα").encode("utf-16")) == LONG + "Ελλάδα"


def test_texts_up_to_the_size_limit_are_accepted(monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_MOST_CORPUS", "100")
    assert validated_text("é" * 50) == "é" * 50
    for content in ("é" * 50 + "!", b"x" * 101):
        with pytest.raises(TextError, match=r"has 101 bytes; at most 100 are read\. Cut it\."):
            validated_text(content)
