from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.environment import environment
from explorer.errors import CorpusMissing, NeedsText, TextError
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import (
    TINYSHAKESPEARE,
    TINYSHAKESPEARE_SHA256,
    ClosingMark,
    brackets_text,
    drop_text,
    find_closing_marks,
    load_text,
    repeats_text,
    store_text,
    toy_text,
    validated_text,
)
from tests import needs

Patch = pytest.MonkeyPatch
PLAY = "First Citizen:\nBefore we proceed any further, hear me speak.\n"


# Tiny Shakespeare: a short play replaces the text, and a local server its address


class DownloadServer:
    """The content that the server returns, and its number of requests."""

    content = PLAY.encode()
    requests = 0


@pytest.fixture
def download_server(monkeypatch: Patch) -> Iterator[DownloadServer]:
    download_server = DownloadServer()

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
    monkeypatch.setattr(corpora, "TINYSHAKESPEARE_URL", f"http://127.0.0.1:{server.server_port}/input.txt")
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
    monkeypatch.setattr(corpora, "TINYSHAKESPEARE_SHA256", hashlib.sha256(PLAY.encode()).hexdigest())
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("LINEAGE_DATA_DIR", str(folder))
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    corpora.reset()
    yield folder
    corpora.reset()


def test_the_data_folder_is_read_first(play: Path, download_server: DownloadServer) -> None:
    (play / TINYSHAKESPEARE).write_text(PLAY)
    assert load_text(TextConfig()) == PLAY
    assert download_server.requests == 0
    assert not environment().cache.exists()


def test_a_missing_text_is_downloaded_once(play: Path, download_server: DownloadServer) -> None:
    assert load_text(TextConfig()) == PLAY
    assert download_server.requests == 1
    assert [file.name for file in environment().cache.iterdir()] == [TINYSHAKESPEARE]
    download_server.content = b"something else"
    for _ in range(3):
        corpora.reset()
        assert load_text(TextConfig()) == PLAY
    assert download_server.requests == 1


def test_a_data_folder_is_optional(play: Path, download_server: DownloadServer, monkeypatch: Patch) -> None:
    monkeypatch.delenv("LINEAGE_DATA_DIR")
    assert load_text(TextConfig()) == PLAY


def test_a_damaged_download_is_replaced(play: Path, download_server: DownloadServer) -> None:
    environment().cache.mkdir()
    (environment().cache / TINYSHAKESPEARE).write_bytes(PLAY.encode()[:-7])
    assert load_text(TextConfig()) == PLAY
    assert download_server.requests == 1


def assert_helpful(message: str) -> None:
    assert "\n" not in message
    for word in ("LINEAGE_DATA_DIR", "toy", "repeats", "brackets"):
        assert word in message


def test_another_text_in_the_data_folder_is_refused(play: Path, download_server: DownloadServer) -> None:
    (play / TINYSHAKESPEARE).write_text(PLAY + "!")
    with pytest.raises(CorpusMissing, match="checksum") as raised:
        load_text(TextConfig())
    assert_helpful(str(raised.value))
    assert str(play) in str(raised.value)
    assert download_server.requests == 0


def test_an_unreadable_file_is_named_in_the_error(play: Path) -> None:
    (play / TINYSHAKESPEARE).mkdir()
    with pytest.raises(CorpusMissing, match="cannot be read: Is a directory"):
        load_text(TextConfig())


@pytest.mark.parametrize("content", [b"a stranger's text", b""], ids=["another text", "not found"])
def test_a_download_with_another_checksum_is_refused(
    content: bytes, play: Path, download_server: DownloadServer
) -> None:
    download_server.content = content
    with pytest.raises(CorpusMissing, match="could not be downloaded") as raised:
        load_text(TextConfig())
    assert_helpful(str(raised.value))
    assert ("checksum" in str(raised.value)) == bool(content)
    assert list(environment().cache.iterdir()) == []
    download_server.content = PLAY.encode()
    assert load_text(TextConfig()) == PLAY  # a failure is not remembered


def test_a_refused_connection_raises_a_helpful_error(play: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(corpora, "TINYSHAKESPEARE_URL", "http://127.0.0.1:9/input.txt")
    with pytest.raises(CorpusMissing, match="the attempt failed") as raised:
        load_text(TextConfig())
    assert_helpful(str(raised.value))


def test_an_unwritable_cache_raises_a_helpful_error(
    play: Path, download_server: DownloadServer, monkeypatch: Patch
) -> None:
    (play / "file").write_text("")
    monkeypatch.setenv("LINEAGE_CACHE", str(play / "file" / "cache"))
    with pytest.raises(CorpusMissing, match="the attempt failed") as raised:
        load_text(TextConfig())
    assert_helpful(str(raised.value))


@needs.tiny_shakespeare
def test_the_published_text_has_its_known_size() -> None:
    text = load_text(TextConfig())
    assert len(text) == 1_115_394
    assert hashlib.sha256(text.encode()).hexdigest() == TINYSHAKESPEARE_SHA256


# Texts made by a rule


@pytest.mark.parametrize(
    ("made", "size", "seed", "fingerprint"),
    [
        (toy_text, 15, 0, "f6e738fea39daaeb"),
        (repeats_text, 5_003, 0, "8f219a97d56d2111"),
        (repeats_text, 5_003, 7, "a888a059c2b91de5"),
        (brackets_text, 5_003, 0, "25c35f64c4c0aec0"),
        (brackets_text, 5_003, 7, "0836044134ad1cce"),
    ],
)
def test_generated_texts_are_deterministic(
    made: Callable[[int, int], str], size: int, seed: int, fingerprint: str
) -> None:
    text = made(size, seed)
    assert len(text) == size
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == fingerprint
    assert made(size + 97, seed).startswith(text)  # a longer one only goes on


@pytest.mark.parametrize("corpus", ["toy", "repeats", "brackets"])
def test_a_configuration_selects_a_generated_text(corpus: str) -> None:
    config = TextConfig(corpus=corpus, size=1_009, corpus_seed=3)  # type: ignore[arg-type]
    assert load_text(config) == getattr(corpora, f"{corpus}_text")(1_009, 3)


def test_toy_text_is_the_string_of_the_notebook() -> None:
    assert toy_text(15, 0) == "abca abca abca "


def test_every_line_of_repeats_contains_its_phrase_twice() -> None:
    lines = repeats_text(20_000, 1).split("\n")[:-1]
    halves = [line.removesuffix(".").split("; ") for line in lines]
    assert all(first == second for first, second in halves)
    counts = Counter(len(first.split()) for first, _ in halves)
    assert sorted(counts) == [3, 4, 5, 6, 7, 8]
    words = Counter(word for first, _ in halves for word in first.split())
    assert len(words) == 64
    assert max(words.values()) < 3 * min(words.values())


def test_repeats_of_another_seed_has_other_words() -> None:
    assert set(repeats_text(9_000, 0).split()) != set(repeats_text(9_000, 1).split())


def closing_marks_by_stack(text: str) -> list[ClosingMark]:
    """Return closing marks by removing innermost pairs until none is left."""
    left = [(position, mark) for position, mark in enumerate(text) if mark in '()[]{}"']
    found = []
    while True:
        inner = [i for i in range(len(left) - 1) if left[i][1] + left[i + 1][1] in ("()", "[]", "{}", '""')]
        if not inner:
            break
        i = inner[0]
        found.append(ClosingMark(left[i + 1][0], left[i + 1][0] - left[i][0]))
        del left[i : i + 2]
    return sorted(found)


def test_every_closing_mark_of_brackets_matches() -> None:
    text = brackets_text(30_000, 5)
    whole = text[: text.rindex("\n")]
    found = find_closing_marks(whole)
    assert 2 * len(found) == sum(mark in '()[]{}"' for mark in whole)
    for position, distance in found:
        assert whole[position - distance] + whole[position] in ("()", "[]", "{}", '""')
    assert found == sorted(found)


def test_closing_marks_close_the_innermost_pair() -> None:
    for line in brackets_text(6_000, 2).split("\n")[:-1]:
        # Between two quotes side by side only the whole line tells opening from closing; without such lines:
        if '""' not in line and line.count('"') <= 2:
            assert find_closing_marks(line) == closing_marks_by_stack(line)


def test_closing_marks_of_a_worked_example() -> None:
    assert find_closing_marks("a(bc[d]e)") == [(6, 2), (8, 7)]
    assert find_closing_marks("()") == [(1, 1)]
    assert find_closing_marks('""') == [(1, 1)]
    assert find_closing_marks('("a")') == [(3, 2), (4, 4)]
    assert find_closing_marks(")a(") == []  # a piece of a text: its beginning is lost


def test_bracket_distances_range_from_1_to_60() -> None:
    counts = Counter(distance for _, distance in find_closing_marks(brackets_text(100_000, 0)))
    assert sorted(counts) == list(range(1, 61))
    assert min(counts.values()) >= 20  # enough to measure at every distance


def test_no_quote_is_directly_inside_a_quote() -> None:
    still_open: list[str] = []
    text = brackets_text(30_000, 3)
    for mark in text:
        if still_open and mark == corpora.CLOSING_MARKS[still_open[-1]]:
            still_open.pop()
        elif mark in corpora.CLOSING_MARKS:
            assert mark != '"' or still_open[-1:] != ['"']
            still_open.append(mark)
        assert len(still_open) <= 4
        if mark == "\n":
            assert still_open == []


# A visitor's own text


def own(sha: str) -> TextConfig:
    return TextConfig(corpus="own", text=sha)


def test_a_stored_text_is_found_by_its_sha() -> None:
    sha = store_text("to be or not to be, שלום 🙂")
    assert sha == hashlib.sha256("to be or not to be, שלום 🙂".encode()).hexdigest()
    assert load_text(own(sha)) == "to be or not to be, שלום 🙂"
    drop_text(sha)
    with pytest.raises(NeedsText):
        load_text(own(sha))
    drop_text(sha)  # twice is no mistake


def test_an_unknown_text_raises_needs_text() -> None:
    with pytest.raises(NeedsText, match=r"needs your text.*abababababab.*Paste or upload the same text again"):
        load_text(own("ab" * 32))


def test_the_least_recently_used_text_is_dropped_first(monkeypatch: Patch) -> None:
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
    problems: list[BaseException] = []

    def visit(visitor: int) -> None:
        try:
            stored = []
            for turn in range(300):
                text = f"{visitor} {turn} " * 20
                stored.append(store_text(text))
                with contextlib.suppress(NeedsText):  # the others have displaced it
                    assert load_text(own(stored[-1])) == text
                drop_text(stored[max(turn - 5, 0)])
        except BaseException as error:
            problems.append(error)

    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        visitors = [threading.Thread(target=visit, args=(visitor,)) for visitor in range(8)]
        for thread in visitors:
            thread.start()
        for thread in visitors:
            thread.join()
    finally:
        sys.setswitchinterval(switching)
    assert problems == []
    assert 0 < texts.currsize == sum(map(sys.getsizeof, texts.values())) <= 600


LONG = "Once upon a time there was a text. "


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (LONG, LONG),
        (LONG.encode(), LONG),
        ("\ufeff" + LONG, LONG),
        (b"\xef\xbb\xbf" + LONG.encode(), LONG),
        ("one line\r\nanother line\rand a third", "one line\nanother line\nand a third"),
        ("tabs\tare kept, pages\x0c are\x1b not\x7f\x85", "tabs\tare kept, pages are not"),
        ("שלום עולם, זה טקסט מימין לשמאל", "שלום עולם, זה טקסט מימין לשמאל"),
        ("👩‍👩‍👧 family, 🏳️‍🌈 flag, é and e\u0301", "👩‍👩‍👧 family, 🏳️‍🌈 flag, é and e\u0301"),
    ],
    ids=["text", "bytes", "mark in text", "mark in bytes", "line ends", "control", "right to left", "emoji"],
)
def test_validated_text_normalizes_its_input(content: str | bytes, text: str) -> None:
    assert validated_text(content) == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("abc", "has 3 characters; .* need at least 20. Give more text."),
        (b"a", "has 1 character; "),
        ("", "has 0 characters; "),
        ("\x01" * 40, "has 0 characters; "),
        (LONG.encode("utf-16"), "is in UTF-16; only UTF-8 is read. Save it as UTF-8."),
        (LONG.encode("utf-16-be"), "zero bytes: it is a binary file, or in UTF-16"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is not in UTF-8: byte 1 cannot be read"),
        (LONG.encode() + "Erlkönig".encode("latin-1"), "byte 40 cannot be read. If it is a text, save it as UTF-8"),
        (LONG + "\0", "zero bytes"),
        (LONG + "\ud83d", "half a character at place 36"),
    ],
    ids=["three", "one", "none", "control only", "utf-16", "utf-16 bare", "png", "latin-1", "zero", "half"],
)
def test_unusable_texts_raise_one_sentence(content: str | bytes, message: str) -> None:
    with pytest.raises(TextError, match=message) as raised:
        validated_text(content)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("This text ")


def test_an_uploaded_file_is_named_in_the_error() -> None:
    with pytest.raises(TextError, match=r"^“ my play.txt” has 3 characters"):
        validated_text("abc", "\nmy play.txt")


def test_texts_up_to_the_size_limit_are_accepted(monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_MOST_CORPUS", "100")
    assert validated_text("é" * 50) == "é" * 50
    for content in ("é" * 50 + "!", b"x" * 101):
        with pytest.raises(TextError, match=r"has 101 bytes; at most 100 are read \(LINEAGE_MOST_CORPUS\)\. Cut it\."):
            validated_text(content)


@settings(deadline=None)
@given(st.one_of(st.text(), st.binary()))
def test_any_input_is_validated_or_raises_one_sentence(typed: str | bytes) -> None:
    for content in (typed, typed * 20):
        try:
            text = validated_text(content)
        except TextError as error:
            assert "\n" not in str(error)
        else:
            assert validated_text(text) == text
            assert len(text) >= 20
            store_text(text)
