"""The corpora of the text task: Tiny Shakespeare, generated texts, and texts of visitors.

Tiny Shakespeare is not in the repository: it is read from LINEAGE_DATA_DIR or from the cache, or downloaded once.
Generated texts are determined by their size and seed. The text of a visitor stays in memory and is identified by its
SHA-256; one that a class shares is found by `shared_texts`. All functions are thread-safe.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from cachetools import LRUCache

from explorer.environment import environment
from explorer.errors import CorpusMissing, LineageError, NeedsText, TextError, shorten
from explorer.tasks.text.config import TextConfig

TINYSHAKESPEARE = "tinyshakespeare.txt"
TINYSHAKESPEARE_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
TINYSHAKESPEARE_URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
MIN_CHARACTERS = 20  # of a visitor's text: enough for training and evaluation
_MAX_STORED_BYTES = 100_000_000  # bytes of all texts of visitors together
_ALTERNATIVES = "Or choose a corpus that is made here: english, toy, repeats, brackets."


def load_text(config: TextConfig) -> str:
    """Return the text of a configuration. Raises NeedsText or CorpusMissing if it is not available."""
    if config.corpus == "own":
        return own_text(config.text)
    if config.corpus == "tinyshakespeare":
        settings = environment()
        return _load_tinyshakespeare(settings.data_dir, settings.cache)
    return _generate_text(config.corpus, config.size, config.corpus_seed)


@lru_cache(maxsize=8)  # a page reads its text several times in each run
def _generate_text(corpus: str, size: int, seed: int) -> str:
    makers = {"english": english_text, "toy": toy_text, "repeats": repeats_text, "brackets": brackets_text}
    return makers[corpus](size, seed)


# Tiny Shakespeare


@lru_cache(maxsize=1)
def _load_tinyshakespeare(data_dir: Path | None, cache: Path) -> str:
    return read_published(_TINYSHAKESPEARE, data_dir, cache).decode()


class PublishedFile(NamedTuple):
    """A file that is not in the repository: where it is published, and what a visitor can do without it."""

    title: str
    name: str
    url: str
    sha256: str
    alternatives: str


_TINYSHAKESPEARE = PublishedFile(
    "Tiny Shakespeare", TINYSHAKESPEARE, TINYSHAKESPEARE_URL, TINYSHAKESPEARE_SHA256, _ALTERNATIVES
)


def read_published(file: PublishedFile, data_dir: Path | None, cache: Path) -> bytes:
    """Return a published file from `data_dir`, the cache, or the network. Raises CorpusMissing."""
    path = data_dir / file.name if data_dir else None
    if not path or not path.exists():
        return _download(file, cache)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CorpusMissing(
            f"{file.title} cannot be read on this machine: {error.strerror}. {file.alternatives}"
        ).for_operator(f"The file is {path}.") from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise CorpusMissing(
            f"The file of {file.title} on this machine is not the published one. {file.alternatives}"
        ).for_operator(f"It is {path}, found by LINEAGE_DATA_DIR: replace or delete it.")
    return content


def _download(file: PublishedFile, cache: Path) -> bytes:
    """Return a file from the cache, downloaded if missing or damaged. Raises CorpusMissing."""
    import pooch  # type: ignore[import-untyped]  # slow to import and rarely needed

    pooch.get_logger().setLevel("WARNING")
    try:
        found = pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=cache,
            downloader=pooch.HTTPDownloader(timeout=15),
        )
        return Path(found).read_bytes()
    except ValueError as error:  # pooch raises it for a wrong checksum
        problem = "the checksum of the downloaded file differs from the published one"
        raise _missing(file, problem) from error
    except OSError as error:  # of the network (also everything that `requests` raises), or of the disk
        raise _missing(file, f"the attempt failed ({type(error).__name__})") from error


def _missing(file: PublishedFile, problem: str) -> CorpusMissing:
    return CorpusMissing(
        f"{file.title} is not on this machine and could not be downloaded: {problem}. {file.alternatives}"
    ).for_operator(f"To use it, put {file.name} into a folder and set LINEAGE_DATA_DIR to that folder.")


def text_length(config: TextConfig) -> int:
    """Return the number of characters of a text, 0 if it is not available."""
    try:
        return len(load_text(config))
    except (NeedsText, CorpusMissing):
        return 0


def is_corpus_available(corpus: str) -> bool:
    """Return whether a corpus is on this machine, without a download."""
    if corpus != "tinyshakespeare":
        return True
    settings = environment()
    return any(folder and (folder / TINYSHAKESPEARE).exists() for folder in (settings.data_dir, settings.cache))


def is_available(task: TextConfig) -> bool:
    """Return whether the text of a task is available without a download; an own text must still be in memory."""
    if task.corpus != "own":
        return is_corpus_available(task.corpus)
    try:
        return bool(load_text(task))
    except LineageError:
        return False


def reset() -> None:
    """Forget Tiny Shakespeare, so that the next use reads it again. The texts of visitors stay."""
    _load_tinyshakespeare.cache_clear()


# Generated texts: each function returns the first `size` characters of an endless text


def english_text(size: int, seed: int) -> str:
    """Return English sentences about films, food and people, a sentence a line, from the grammar of the sentiment task.

    the soup was not good
    """
    from explorer.tasks.text.english_grammar import compose

    sentences = compose(size // 20 + 1, seed)  # a line has 40 characters on average
    return "".join(f"{each.text}\n" for each in sentences)[:size]


def toy_text(size: int, seed: int) -> str:
    """Return `abca abca …`: after an "a", only a model with memory can predict "b" or the space. `seed` is ignored."""
    return ("abca " * (size // 5 + 1))[:size]


def repeats_text(size: int, seed: int) -> str:
    """Return lines of three to eight random words, each repeated once, from a made-up vocabulary of 64 words.

        bofi leka nupo; bofi leka nupo.

    The first half is unpredictable. The second half is certain for a model that looks up what followed the same word
    before (induction).
    """
    rng = random.Random(f"repeats/{seed}")
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    words = rng.sample([first + second for first in syllables for second in syllables], 64)
    lines: list[str] = []
    length = 0
    while length < size:
        phrase = " ".join(rng.choices(words, k=rng.randint(3, 8)))
        lines.append(f"{phrase}; {phrase}.\n")
        length += len(lines[-1])
    return "".join(lines)[:size]


CLOSING_MARKS = {"(": ")", "[": "]", "{": "}", '"': '"'}
MAX_DISTANCE = 60  # characters from an opening to its closing mark
_MAX_DEPTH = 4  # levels of nesting


def brackets_text(size: int, seed: int) -> str:
    """Return random letters with nested brackets and quotes: each closing mark closes the last open one.

        cab(ed [ac]b"ca e" d)e
        a b{}bed

    A bracket closes after 1 to 60 characters; all distances are equally likely for outermost brackets. A quote is never
    directly inside a quote, so that `"` closes if the last open mark is a quote, and opens otherwise.
    """
    rng = random.Random(f"brackets/{seed}")
    lines: list[str] = []
    length = 0
    while length < size:
        group = _draw_bracket_group(rng.randrange(MAX_DISTANCE), "", 1, rng)
        lines.append(f"{_draw_letters(rng.randint(1, 5), rng)}{group}{_draw_letters(rng.randint(1, 5), rng)}\n")
        length += len(lines[-1])
    return "".join(lines)[:size]


def _draw_bracket_group(length: int, outer: str, depth: int, rng: random.Random) -> str:
    """Return an opening mark, `length` characters with groups inside, and the closing mark; depth: from 1."""
    opening = rng.choice([mark for mark in CLOSING_MARKS if not mark == outer == '"'])
    pieces = [opening]
    while length:
        if length >= 2 and depth < _MAX_DEPTH and rng.random() < 0.25:
            pieces.append(_draw_bracket_group(rng.randrange(length - 1), opening, depth + 1, rng))
        else:
            pieces.append(_draw_letters(min(length, rng.randint(1, 5)), rng))
        length -= len(pieces[-1])
    return "".join(pieces) + CLOSING_MARKS[opening]


def _draw_letters(count: int, rng: random.Random) -> str:
    return "".join(rng.choices("abcde ", k=count))


class ClosingMark(NamedTuple):
    """The position of a closing mark, and its distance in characters from its opening mark."""

    position: int
    distance: int


def find_closing_marks(text: str) -> list[ClosingMark]:
    """Return all closing marks of a text made by `brackets_text`. The text must be complete: a piece lacks marks."""
    marks: list[ClosingMark] = []
    open_positions: list[int] = []
    for match in re.finditer(r'[()\[\]{}"]', text):
        mark, position = match.group(), match.start()
        if open_positions and CLOSING_MARKS[text[open_positions[-1]]] == mark:
            marks.append(ClosingMark(position, position - open_positions.pop()))
        elif mark in CLOSING_MARKS:
            open_positions.append(position)
    return marks


# Texts of visitors


def validated_text(content: bytes | str, name: str = "", least: int = MIN_CHARACTERS) -> str:
    """Return a pasted text, or an uploaded file with this name, as a corpus whose lines end with "\\n".

    Control characters are dropped; those that separate words, such as page breaks, become spaces. Raises TextError if
    the text is in an encoding that is not read (see `_decode`), binary, too long or has fewer than `least` characters.
    Warns if it was read as Windows-1252.
    """
    source = f"“{shorten(name)}”" if name else "This text"
    try:
        size = len(content.encode() if isinstance(content, str) else content)
        max_bytes = environment().most_corpus
        if size > max_bytes:
            problem = TextError(f"{source} has {size:,} bytes; at most {max_bytes:,} are read. Cut it.")
            raise problem.for_operator("The limit is LINEAGE_MOST_CORPUS.")
        if isinstance(content, bytes):
            content, encoding = _decode(content, source)
            if encoding == "cp1252":
                warnings.warn(WINDOWS_NOTE, stacklevel=2)
    except UnicodeEncodeError as error:  # half of a surrogate pair: some browsers cut pasted emoji like this
        raise TextError(
            f"{source} holds half a character at place {error.start + 1:,}. Delete it, or save the text as UTF-8."
        ) from None
    if "\0" in content:
        raise TextError(
            f"{source} holds zero bytes: it is a binary file, or in UTF-16. If it is a text, save it as UTF-8."
        )
    text = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"[\x0b\x0c\x1c-\x1f\x85]", " ", text)  # control characters that separate words
    text = re.sub(r"[\x01-\x08\x0e-\x1b\x7f-\x9f]", "", text)
    if len(text) < least:
        raise TextError(
            f"{source} has {len(text)} character{'s' * (len(text) != 1)}; a part to train on and a part to test need "
            f"at least {least}. Give more text."
        )
    return text


def is_windows_encoding(content: bytes) -> bool:
    """Return whether a file is read as Windows-1252."""
    try:
        return _decode(content, "")[1] == "cp1252"
    except TextError:
        return False


def _decode(content: bytes, source: str) -> tuple[str, str]:
    """Return a file as text, and its encoding: UTF-8, UTF-16 with its byte order mark, or Windows-1252.

    Excel writes Windows-1252 in Western Europe and America. A file is in it only if it looks like a text of few
    accented letters: in other encodings of Windows it would be nonsense. Raises TextError for any other file.
    """
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        letters = content.decode("cp1252", "replace")
        accented = sum(char > "\x7f" for char in letters)
        if encoding == "utf-8" and accented <= len(letters) / 5 and not _NOT_WINDOWS.search(letters):
            return letters, "cp1252"
        raise TextError(
            f"{source} is in none of the encodings that are read: UTF-8, UTF-16 and Windows-1252. Its byte "
            f"{error.start + 1:,} is not UTF-8. If it is a text, save it as UTF-8 (in Excel: “CSV UTF-8”); pictures, "
            "PDFs and other binary files cannot be learned from."
        ) from None


# Control characters, undefined bytes, and signs inside of words, which are letters in other encodings of Windows.
_NOT_WINDOWS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]|[^\W\d_][¢-©¬-³´¶¸¹¼-¿×÷][^\W\d_]")
WINDOWS_NOTE = (
    "This file is not in UTF-8, so it was read as Windows-1252, as Excel writes it in Western Europe and America. If "
    "accented letters are wrong, save it as UTF-8 (in Excel: “CSV UTF-8”)."
)


def _new_text_store(max_bytes: int) -> LRUCache[str, str]:
    """Return an empty store of texts by SHA-256; above `max_bytes` in total, the least recently used are dropped."""
    return LRUCache(max_bytes, getsizeof=lambda text: min(sys.getsizeof(text), max_bytes))  # a larger text fits alone


# The visitor for whom texts are read: set where a page, a request or a training begins. In a terminal it is empty.
reader: ContextVar[str] = ContextVar("reader", default="")


@contextmanager
def read_as(visitor: str) -> Iterator[None]:
    """Read texts for a visitor inside a `with` block."""
    token = reader.set(visitor)
    try:
        yield
    finally:
        reader.reset(token)


@contextmanager
def personal_process() -> Iterator[None]:
    """Inside this block, one person uses this process: runs on that person's texts are stored like all others."""
    global _personal
    _personal += 1
    try:
        yield
    finally:
        _personal -= 1


def is_personal() -> bool:
    """Return whether one person uses this process."""
    return _personal > 0


# Further ways in which a visitor may read a text, given its SHA-256 and the visitor: a class may share one.
shared_by: list[Callable[[str, str], bool]] = []
# Where else the text with a SHA-256 may be found, if it is not in the memory of this process.
shared_texts: list[Callable[[str], str | None]] = []
_own_texts = _new_text_store(_MAX_STORED_BYTES)
_owners: dict[str, set[str]] = {}  # the visitors who entered a text, by its SHA-256
_lock = threading.Lock()
file_names: dict[str, str] = {}  # of the files that a terminal or Python has read, by the SHA-256 of the text
_personal = 0  # how many `personal_process` blocks there are


def store_text(text: str, owner: str | None = None) -> str:
    """Store a text for its `owner`, by default the present reader; return the SHA-256 that identifies it."""
    sha = hashlib.sha256(text.encode()).hexdigest()
    with _lock:
        _own_texts[sha] = text
        _owners.setdefault(sha, set()).add(reader.get() if owner is None else owner)
    return sha


def store_file(content: bytes, name: str, least: int = MIN_CHARACTERS) -> str:
    """Store a text file of whoever runs this process, who sees its name; return its SHA-256. Raises TextError."""
    sha = store_text(validated_text(content, name, least))
    file_names[sha] = name
    return sha


def release_text(sha: str, owner: str) -> bool:
    """Remove a visitor from the owners of a text; return whether nobody owns it any more."""
    with _lock:
        owners = _owners.get(sha, set())
        owners.discard(owner)
        if not owners:
            _owners.pop(sha, None)
        return not owners


def texts_of(owner: str) -> set[str]:
    """Return the SHA-256 of each text that this owner has."""
    with _lock:
        return {sha for sha, owners in _owners.items() if owner in owners}


def is_own_text(sha: str) -> bool:
    """Return whether this is the SHA-256 of a text that a visitor entered."""
    return sha in _owners


def is_owner(sha: str, visitor: str) -> bool:
    """Return whether this visitor entered the text with this SHA-256."""
    return visitor in _owners.get(sha, ())


def may_read(sha: str, visitor: str | None = None) -> bool:
    """Return whether a visitor, by default the one for whom texts are read, may read a text that somebody entered."""
    visitor = reader.get() if visitor is None else visitor
    return is_owner(sha, visitor) or any(shares(sha, visitor) for shares in shared_by)


def needs_text(sha: str) -> NeedsText:
    """Return the error for a text that the visitor has not entered, or that is not kept any more."""
    return NeedsText(
        f"This needs your text, the one whose SHA-256 begins with {sha[:12]}: a visitor's own text is not kept for "
        "long. Paste or upload the same text again, or choose another corpus."
    )


def drop_text(sha: str) -> None:
    """Drop the text of a visitor."""
    with _lock:
        _own_texts.pop(sha, None)


def own_text(sha: str) -> str:
    """Return a text that a visitor entered. Raises NeedsText if the present reader may not read it."""
    if not may_read(sha):
        raise needs_text(sha)
    with _lock:
        text = _own_texts.get(sha)
    if text is None:
        text = next(filter(None, (find(sha) for find in shared_texts)), None)
    if text is None:
        raise needs_text(sha)
    return text
