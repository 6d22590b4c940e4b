"""The texts that a language model can learn, by name: Tiny Shakespeare, texts made by a rule, a visitor's own.

Tiny Shakespeare is not in the repository: it lies in LINEAGE_DATA_DIR, or in the cache, or is downloaded once.
Made texts follow from their size and seed for ever. A visitor's own text stays in memory and is named by its
SHA-256. Every function may be called from any thread.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
import threading
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from explorer.environment import environment
from explorer.errors import CorpusMissing, NeedsText, TextError, shortened
from explorer.tasks.text import TextConfig

TINYSHAKESPEARE = "tinyshakespeare.txt"
TINYSHAKESPEARE_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
TINYSHAKESPEARE_ADDRESS = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
FEWEST_CHARACTERS = 20  # of a visitor's own text: something to learn, and something to be asked about
_MOST_KEPT = 100_000_000  # bytes of all visitors' own texts together
_INSTEAD = "Or choose a corpus that is made here: toy, repeats, brackets."


def text_of(config: TextConfig) -> str:
    """The text that a configuration names. Raises NeedsText, CorpusMissing."""
    if config.corpus == "own":
        return _kept(config.text)
    if config.corpus == "tinyshakespeare":
        settings = environment()
        return _tinyshakespeare(settings.data_dir, settings.cache)
    return {"toy": toy, "repeats": repeats, "brackets": brackets}[config.corpus](config.size, config.corpus_seed)


# Tiny Shakespeare


@lru_cache(maxsize=1)
def _tinyshakespeare(data_dir: Path | None, cache: Path) -> str:
    where = data_dir / TINYSHAKESPEARE if data_dir else None
    if where and where.exists():
        try:
            content = where.read_bytes()
        except OSError as error:
            raise CorpusMissing(f"{where} cannot be read: {error.strerror}. {_INSTEAD}") from error
        if hashlib.sha256(content).hexdigest() != TINYSHAKESPEARE_SHA256:
            raise CorpusMissing(
                f"{where}, found by LINEAGE_DATA_DIR, is not Tiny Shakespeare as it was published: "
                f"its checksum is another one. Replace or delete it. {_INSTEAD}"
            )
    else:
        content = _downloaded(cache)
    return content.decode()


def _downloaded(cache: Path) -> bytes:
    """From the cache; if it is not there, or damaged, downloaded into it."""
    import pooch  # type: ignore[import-untyped]  # here: it takes long to import and is needed once on a machine

    pooch.get_logger().setLevel("WARNING")
    try:
        file = pooch.retrieve(
            TINYSHAKESPEARE_ADDRESS,
            known_hash=f"sha256:{TINYSHAKESPEARE_SHA256}",
            fname=TINYSHAKESPEARE,
            path=cache,
            downloader=pooch.HTTPDownloader(timeout=15),
        )
        return Path(file).read_bytes()
    except ValueError as error:  # pooch's way to say that the checksum is wrong
        problem = "what came is not Tiny Shakespeare as it was published: its checksum is another one"
        raise CorpusMissing(_missing(problem)) from error
    except OSError as error:  # of the network (also everything that `requests` raises), or of the disk
        raise CorpusMissing(_missing(f"that failed ({type(error).__name__})")) from error


def _missing(problem: str) -> str:
    return (
        f"Tiny Shakespeare is not on this machine and was to be downloaded, but {problem}. "
        f"Put {TINYSHAKESPEARE} into a folder and set LINEAGE_DATA_DIR to it. {_INSTEAD}"
    )


# Texts made by a rule: each gives the first `size` characters of an endless text


def toy(size: int, seed: int) -> str:
    """`abca abca …`: after an "a", only memory knows whether "b" or the space comes. No seed changes it."""
    return ("abca " * (size // 5 + 1))[:size]


def repeats(size: int, seed: int) -> str:
    """Lines of three to eight random words of a made-up language of 64, each line said twice.

        bofi leka nupo; bofi leka nupo.

    Nothing predicts the first half. The second half is certain for whoever looks up what followed the
    same word a moment ago (induction).
    """
    draw = random.Random(f"repeats/{seed}")
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    words = draw.sample([first + second for first in syllables for second in syllables], 64)
    lines: list[str] = []
    length = 0
    while length < size:
        phrase = " ".join(draw.choices(words, k=draw.randint(3, 8)))
        lines.append(f"{phrase}; {phrase}.\n")
        length += len(lines[-1])
    return "".join(lines)[:size]


MARKS = {"(": ")", "[": "]", "{": "}", '"': '"'}
LONGEST_DISTANCE = 60  # characters from an opening mark to the one that closes it
_DEEPEST = 4  # marks inside each other


def brackets(size: int, seed: int) -> str:
    """Random letters, and in them brackets and quotes, nested: each mark closes the last one still open.

        cab(ed [ac]b"ca e" d)e
        a b{}bed

    A bracket closes after 1 to 60 characters, each distance equally likely in the outermost ones. A quote never
    stands directly in a quote, so that `"` closes if the last open mark is a quote, and opens otherwise.
    """
    draw = random.Random(f"brackets/{seed}")
    lines: list[str] = []
    length = 0
    while length < size:
        group = _group(draw.randrange(LONGEST_DISTANCE), "", 1, draw)
        lines.append(f"{_letters(draw.randint(1, 5), draw)}{group}{_letters(draw.randint(1, 5), draw)}\n")
        length += len(lines[-1])
    return "".join(lines)[:size]


def _group(inside: int, around: str, depth: int, draw: random.Random) -> str:
    """An opening mark, so many characters with groups among them, and the mark that closes it."""
    opening = draw.choice([mark for mark in MARKS if not mark == around == '"'])
    pieces = [opening]
    while inside:
        if inside >= 2 and depth < _DEEPEST and draw.random() < 0.25:
            pieces.append(_group(draw.randrange(inside - 1), opening, depth + 1, draw))
        else:
            pieces.append(_letters(min(inside, draw.randint(1, 5)), draw))
        inside -= len(pieces[-1])
    return "".join(pieces) + MARKS[opening]


def _letters(count: int, draw: random.Random) -> str:
    return "".join(draw.choices("abcde ", k=count))


class Closing(NamedTuple):
    """A mark that closes: where it stands, and how many characters before it the one it closes."""

    position: int
    distance: int


def closings(text: str) -> list[Closing]:
    """Every mark of a text of `brackets` that closes another one. Give it the whole text: a piece has lost marks."""
    found: list[Closing] = []
    still_open: list[int] = []
    for match in re.finditer(r'[()\[\]{}"]', text):
        mark, position = match.group(), match.start()
        if still_open and MARKS[text[still_open[-1]]] == mark:
            found.append(Closing(position, position - still_open.pop()))
        elif mark in MARKS:
            still_open.append(position)
    return found


# A visitor's own text


def validated_text(content: bytes | str, name: str = "") -> str:
    """What was pasted, or uploaded as a file of this name, as text to learn from: lines end with "\\n".

    Control characters (page breaks and the like) are dropped. Raises TextError: not UTF-8, binary, too long, too short.
    """
    said = f"“{shortened(name)}”" if name else "This text"
    try:
        size = len(content.encode() if isinstance(content, str) else content)
        most = environment().most_corpus
        if size > most:
            raise TextError(f"{said} has {size:,} bytes; at most {most:,} are read (LINEAGE_MOST_CORPUS). Cut it.")
        if isinstance(content, bytes):
            if content.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise TextError(f"{said} is in UTF-16; only UTF-8 is read. Save it as UTF-8.")
            content = content.decode()
    except UnicodeDecodeError as error:
        raise TextError(
            f"{said} is not in UTF-8: byte {error.start + 1:,} cannot be read. If it is a text, save it as UTF-8; "
            "pictures, PDFs and other binary files cannot be learned from."
        ) from None
    except UnicodeEncodeError as error:  # half of a character pair: some browsers cut pasted emoji so
        raise TextError(
            f"{said} holds half a character at place {error.start + 1:,}. Delete it, or save the text as UTF-8."
        ) from None
    if "\0" in content:
        raise TextError(
            f"{said} holds zero bytes: it is a binary file, or in UTF-16. If it is a text, save it as UTF-8."
        )
    text = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]", "", text)
    if len(text) < FEWEST_CHARACTERS:
        raise TextError(
            f"{said} has {len(text)} character{'s' * (len(text) != 1)}; a part to learn from and a part to be asked "
            f"about need at least {FEWEST_CHARACTERS}. Give more text."
        )
    return text


class _OwnTexts:
    """Texts by SHA-256. When they become too many bytes together, those that nobody used for longest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._texts: OrderedDict[str, str] = OrderedDict()  # the least recently used one first
        self._lock = threading.Lock()

    def put(self, sha: str, text: str) -> None:
        with self._lock:
            if sha not in self._texts:
                self._bytes += sys.getsizeof(text)
            self._texts[sha] = text
            self._texts.move_to_end(sha)
            while self._bytes > self._most and len(self._texts) > 1:
                self._bytes -= sys.getsizeof(self._texts.popitem(last=False)[1])

    def get(self, sha: str) -> str | None:
        with self._lock:
            if sha in self._texts:
                self._texts.move_to_end(sha)
            return self._texts.get(sha)

    def drop(self, sha: str) -> None:
        with self._lock:
            if sha in self._texts:
                self._bytes -= sys.getsizeof(self._texts.pop(sha))


_own = _OwnTexts(_MOST_KEPT)


def keep(text: str) -> str:
    """Remembers a validated text of a visitor, and gives its SHA-256, by which a TextConfig names it."""
    sha = hashlib.sha256(text.encode()).hexdigest()
    _own.put(sha, text)
    return sha


def forget(sha: str) -> None:
    """Removes a visitor's text."""
    _own.drop(sha)


def _kept(sha: str) -> str:
    text = _own.get(sha)
    if text is None:
        raise NeedsText(
            f"This needs your text, the one whose SHA-256 begins with {sha[:12]}: a visitor's own text is not kept for "
            "long. Paste or upload the same text again, or choose another corpus."
        )
    return text
