"""A text as arrays of token ids, made once: kept in the cache on disk, and opened from there as memory maps.

    tokens/HASH/          HASH: of the text, the tokenizer's settings, what is held out, and a version
        tokenizer.json
        NAME.npy          ids, in the smallest unsigned integers that hold them
        seal.json         the SHA-256 of the others

A folder is written under another name, then renamed: it is there whole or not at all. A damaged one is made anew; a
cache that cannot be written is done without. Own texts of visitors, and what is made of them, stay in memory. Every
function may be called from any thread.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Int, Integer
from numpy import ndarray

from explorer.environment import environment
from explorer.errors import DamagedRun, TextError
from explorer.tasks.text import VERSION, TextConfig
from explorer.tokenization.text import Tokenizer, from_json, train

log = logging.getLogger(__name__)
_K = TypeVar("_K")
_V = TypeVar("_V")
_MOST_FOLDERS = 64  # in the cache; of more, those that nobody opened for longest are deleted
_MOST_IN_MEMORY = 16
_TOGETHER = 500_000  # characters of lines that are encoded at once


class Once(Generic[_K, _V]):
    """The values that were asked for last. If several threads ask for one that is not there, one of them makes it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._slots: OrderedDict[_K, _Slot[_V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _K, make: Callable[[], _V]) -> _V:
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > self._most:
                self._slots.popitem(last=False)
        with slot.lock:
            if not slot.values:
                slot.values.append(make())
            return slot.values[0]

    def forget(self, condition: Callable[[_K], bool]) -> None:
        with self._lock:
            for key in [key for key in self._slots if condition(key)]:
                del self._slots[key]


class _Slot(Generic[_V]):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: list[_V] = []


@dataclass(frozen=True)
class Recipe:
    """What decides the tokens of a text, and nothing else: how rows are cut from them is another matter."""

    text: str  # its SHA-256
    tokenizer: str
    vocabulary: int  # 0 for characters, which are what they are
    lower: bool
    lines: bool  # the lines of rows = sentences or prefixes, and not one stream
    held_out: float  # share of the stream at its end; 0 where nothing or something else is held out


@dataclass(frozen=True)
class Tokens:
    """A text in tokens. The arrays are shared by all: never change one.

    Of a stream that ends in a held-out part: `training`; and `held_out`, which begins with the last token of
    `training`, so that every one of its own tokens is a target. Of any other stream: `training`, which is all of it.
    Of lines: the tokens of all, one line after the other, are `training`; `lengths` has the tokens of each line, and
    `characters` says how many characters of its line each token stands for.
    """

    tokenizer: Tokenizer
    arrays: Mapping[str, Integer[ndarray, " numbers"]]


def recipe_of(config: TextConfig, text: str) -> Recipe:
    """What decides the tokens under this configuration."""
    return Recipe(
        text=hashlib.sha256(text.encode()).hexdigest(),
        tokenizer=config.tokenizer,
        vocabulary=0 if config.tokenizer == "char" else config.vocabulary,
        lower=config.lower,
        lines=config.rows != "blocks",
        held_out=config.held_out if config.split == "end" else 0.0,
    )


_made: Once[Recipe, Tokens] = Once(_MOST_IN_MEMORY)


def tokens_of(config: TextConfig, text: str) -> Tokens:
    """The tokens of a text, from memory, from the cache, or made now. Raises TextError."""
    recipe = recipe_of(config, text)
    return _made.get(recipe, lambda: make(recipe, text) if config.corpus == "own" else _cached(recipe, text))


def forget(text: str) -> None:
    """Drop what was made of a visitor's own text, by its SHA-256."""
    _made.forget(lambda recipe: recipe.text == text)


# Making


def parts(text: str, held_out: float) -> tuple[str, str]:
    """A text in its training part and its end, by characters."""
    cut = int((1 - held_out) * len(text))
    return text[:cut], text[cut:]


def lines_of(text: str) -> list[str]:
    """The assignment's sentences: lines of 5 to 30 words and more than 20 characters. Raises TextError."""
    stripped = (line.strip() for line in text.split("\n"))
    lines = [line for line in stripped if len(line) > 20 and 5 <= len(line.split()) <= 30 and line[0] not in "=@"]
    if len(lines) < 2:
        raise TextError(
            f"{'One line' if lines else 'No line'} of this text has 5 to 30 words and more than 20 characters; rows of "
            "sentences need at least two such lines.",
            "Choose rows = blocks, or another text.",
        )
    return lines


def make(recipe: Recipe, text: str) -> Tokens:
    """Train the tokenizer, and encode. Raises TextError."""
    return _of_lines(recipe, text) if recipe.lines else _of_stream(recipe, text)


def _of_stream(recipe: Recipe, text: str) -> Tokens:
    text = text.lower() if recipe.lower else text
    training, held_out = parts(text, recipe.held_out)
    # The public recipes for characters know all of them; everything else is learned from the training part alone.
    tokenizer = train(recipe.tokenizer, text if recipe.tokenizer == "char" else training, recipe.vocabulary)
    ids = {"training": tokenizer.encode(training)}
    if held_out:
        ids["held_out"] = np.concatenate([ids["training"][-1:], tokenizer.encode(held_out)])
    return Tokens(tokenizer, {name: _small(array) for name, array in ids.items()})


def _of_lines(recipe: Recipe, text: str) -> Tokens:
    original = lines_of(text)
    lines = [line.lower() for line in original] if recipe.lower else original
    # As in the assignment: pieces are learned from the lines as they stand, and found in the lower-cased ones. Whole
    # words and characters with capitals would then never be met again.
    learned = original if recipe.tokenizer in ("bpe", "bytes") else lines
    tokenizer = train(recipe.tokenizer, learned, recipe.vocabulary)
    some = [_encoded(tokenizer, together) for together in _groups(lines)]
    return Tokens(tokenizer, {name: _small(np.concatenate([arrays[name] for arrays in some])) for name in some[0]})


def _groups(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines in groups, so that the spans of one need not much memory."""
    group: list[str] = []
    size = 0
    for line in lines:
        group.append(line)
        size += len(line)
        if size >= _TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group


def _encoded(tokenizer: Tokenizer, lines: Sequence[str]) -> dict[str, Int[ndarray, " _"]]:
    """The arrays of some lines (see `Tokens`), encoded as one text: no token of any kind reaches over a line's end."""
    next_line = np.cumsum([len(line) + 1 for line in lines])
    found = tokenizer.spans("\n".join(lines))
    spans = np.fromiter(itertools.chain.from_iterable(found), np.int64, 3 * len(found)).reshape(-1, 3)
    line = np.searchsorted(next_line, spans[:, 1], side="right")
    inside = spans[:, 1] < next_line[line] - 1  # the line's end may be a token as well
    (ids, _, ends), line = spans[inside].T, line[inside]
    # What no token stands for, a dropped space, is counted with the token after it.
    last_end = np.concatenate([[0], ends[:-1]])
    first = np.concatenate([[0], next_line])[line]
    return {
        "training": ids,
        "lengths": np.bincount(line, minlength=len(lines)),
        "characters": ends - np.maximum(last_end, first),
    }


def _small(array: Int[ndarray, " numbers"]) -> Integer[ndarray, " numbers"]:
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


# The cache on disk


def _cached(recipe: Recipe, text: str) -> Tokens:
    folder = environment().cache / "tokens" / _name(recipe)
    found = _opened(folder)
    if found is None:
        made = make(recipe, text)
        _write(made, folder)
        found = _opened(folder) or made
    return found


def _name(recipe: Recipe) -> str:
    named = json.dumps([VERSION, version("tokenizers"), *astuple(recipe)])
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _opened(folder: Path) -> Tokens | None:
    """What is in a folder of the cache; None where there is nothing, or nothing sound."""
    try:
        seal = json.loads((folder / "seal.json").read_text())
        found = {file.name: _digest(file) for file in folder.iterdir() if file.name != "seal.json"}
        if found != seal:
            return None
        arrays = {
            Path(name).stem: np.load(folder / name, mmap_mode="r").view(ndarray)
            for name in seal
            if name.endswith(".npy")
        }
        tokenizer = from_json((folder / "tokenizer.json").read_text())
        os.utime(folder)  # used: others are deleted before it
    except (OSError, ValueError, DamagedRun):
        return None
    return Tokens(tokenizer, arrays)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _write(tokens: Tokens, folder: Path) -> None:
    """Put a folder into the cache, if it can be written."""
    new = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
        for name, array in tokens.arrays.items():
            np.save(new / f"{name}.npy", array)
        (new / "tokenizer.json").write_text(tokens.tokenizer.to_json())
        seal = {file.name: _digest(file) for file in sorted(new.iterdir())}
        (new / "seal.json").write_text(json.dumps(seal))
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one
        new.replace(folder)
        _tidy(folder.parent)
    except OSError as error:  # a full disk, no permission, or another process that was first
        log.info("tokens are not kept in %s: %s", folder.parent, error)
    finally:
        if new:
            shutil.rmtree(new, ignore_errors=True)


def _tidy(cache: Path) -> None:
    folders = sorted(cache.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in folders[_MOST_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)
