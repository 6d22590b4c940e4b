"""A text as arrays of token ids, computed once, stored in the cache on disk and opened as memory maps.

    tokens/HASH/          HASH of the text, the tokenizer settings, the held-out part and a version
        tokenizer.json
        NAME.npy          ids, as the smallest sufficient unsigned integers
        seal.json         the SHA-256 of the other files

A folder is written under another name, then renamed, so that it is never incomplete. A damaged folder is replaced; if
the cache cannot be written, it is not used. Texts of visitors and their tokens stay in memory. All functions are
thread-safe.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Integer
from numpy import ndarray

from explorer.byte_cache import Once
from explorer.environment import environment
from explorer.errors import DamagedRun, TextError
from explorer.lazy_libraries import torch
from explorer.tasks.text.config import VERSION, TextConfig
from explorer.tokenization.text import Tokenizer, from_json, train

log = logging.getLogger(__name__)
TOKENIZERS = version("tokenizers")  # read once: concurrent calls from two threads can fail
_MAX_FOLDERS = 64  # in the cache; the least recently used ones are deleted
TRAINING, VALIDATION, TEST = range(3)  # the parts of a split at random
_CHARACTERS_AT_ONCE = 500_000  # of lines that are encoded in one call


@dataclass(frozen=True)
class Recipe:
    """Everything that determines the tokens of a text; rows are cut from them later."""

    text: str  # its SHA-256
    tokenizer: str
    vocabulary: int  # 0 for characters, which have no vocabulary size
    lower: bool
    lines: bool  # whether the tokens are separate lines (rows = sentences or prefixes)
    held_out: float  # share of the stream at its end; 0 for other splits
    test: float = 0.0  # share of that end which is the test split
    training_lines: tuple[float, int] | None = None  # `held_out` and `split_seed`, if only training lines are learned


@dataclass(frozen=True)
class Tokens:
    """A tokenized text. The arrays are shared: never modify one.

    A stream with a held-out end has the arrays `training`, `held_out` (the validation split) and, if there is a test
    split, `test`. The second and third start with the last token of the array before, so that all their own tokens are
    targets. Any other stream has only `training`. For lines, `training` has
    the tokens of all lines in order, `lengths` the number of tokens of each line, and `characters` the number of
    characters of each token.
    """

    tokenizer: Tokenizer
    arrays: Mapping[str, Integer[ndarray, " numbers"]]


def recipe_of(config: TextConfig, text: str) -> Recipe:
    """Return what determines the tokens of a text under a configuration."""
    return Recipe(
        text=hashlib.sha256(text.encode()).hexdigest(),
        tokenizer=config.tokenizer,
        vocabulary=0 if config.tokenizer == "char" else config.vocabulary,
        lower=config.lower,
        lines=config.rows != "blocks",
        held_out=config.held_out if config.split == "end" else 0.0,
        test=config.test if config.split == "end" else 0.0,
        training_lines=(config.held_out, config.split_seed)
        if config.tokenizer_from_training and config.tokenizer != "char" and config.split == "sentences"
        else None,
    )


_made: Once[Recipe, Tokens] = Once()


def load_tokens(config: TextConfig, text: str) -> Tokens:
    """Return the tokens of a text from memory, from the cache, or newly computed. Raises TextError as `tokenize`."""
    recipe = recipe_of(config, text)
    return _made.get(
        recipe, lambda: tokenize(recipe, text) if config.corpus == "own" else _load_or_tokenize(recipe, text)
    )


def reset() -> None:
    """Forget the tokens of every text; what is cached on disk stays."""
    _made.drop_where(lambda recipe: True)


# Tokenizing


def split_text(text: str, held_out: float) -> tuple[str, str]:
    """Return the training part and the held-out end of a text, split by characters."""
    cut = int((1 - held_out) * len(text))
    return text[:cut], text[cut:]


class StreamParts(NamedTuple):
    """The parts of a stream with a held-out end, in order."""

    training: str
    validation: str
    test: str  # empty if there is no test split


def split_stream(text: str, held_out: float, test: float) -> StreamParts:
    """Return the parts of a stream: the last `held_out` of it is held out, and the last `test` of that is for tests."""
    training, end = split_text(text, held_out)
    return StreamParts(training, *split_text(end, test))


def split_at_random(count: int, held_out: float, test: float, split_seed: int) -> Int[ndarray, " count"]:
    """Return TRAINING, VALIDATION or TEST for each of `count` lines (or targets).

    They are shuffled with `split_seed`, as in the assignment; the first are for training, the last for tests. At least
    one is for training and one for validation, so that a test split of few lines may be empty.
    """
    shuffled = torch.randperm(count, generator=torch.Generator().manual_seed(split_seed)).numpy()
    training = min(max(1, int((1 - held_out) * count)), count - 1)
    validation = max(1, int((1 - test) * (count - training)))
    parts = np.full(count, TEST)
    parts[shuffled[: training + validation]] = VALIDATION
    parts[shuffled[:training]] = TRAINING
    return parts


def sentence_lines(text: str) -> list[str]:
    """Return the lines of 5 to 30 words and more than 20 characters. Raises TextError if there are fewer than two."""
    stripped = (line.strip() for line in text.split("\n"))
    lines = [line for line in stripped if len(line) > 20 and 5 <= len(line.split()) <= 30 and line[0] not in "=@"]
    if len(lines) < 2:
        raise TextError(
            f"{'One line' if lines else 'No line'} of this text has 5 to 30 words and more than 20 characters; rows of "
            "sentences need at least two such lines.",
            "Choose rows = blocks, or another text.",
        )
    return lines


def tokenize(recipe: Recipe, text: str) -> Tokens:
    """Train the tokenizer and encode the text. Raises TextError if the text has too few suitable lines."""
    return _tokenize_lines(recipe, text) if recipe.lines else _tokenize_stream(recipe, text)


def _tokenize_stream(recipe: Recipe, text: str) -> Tokens:
    text = text.lower() if recipe.lower else text
    parts = split_stream(text, recipe.held_out, recipe.test)
    # Published character-level recipes use all characters; other tokenizers are trained on the training part alone.
    tokenizer = train(recipe.tokenizer, text if recipe.tokenizer == "char" else parts.training, recipe.vocabulary)
    ids = {"training": tokenizer.encode(parts.training)}
    if parts.validation:
        ids["held_out"] = np.concatenate([ids["training"][-1:], tokenizer.encode(parts.validation)])
    if parts.test:
        ids["test"] = np.concatenate([ids["held_out"][-1:], tokenizer.encode(parts.test)])
    return Tokens(tokenizer, {name: _with_smallest_dtype(array) for name, array in ids.items()})


def _tokenize_lines(recipe: Recipe, text: str) -> Tokens:
    original = sentence_lines(text)
    lines = [line.lower() for line in original] if recipe.lower else original
    # As in the assignment, BPE is trained on the original lines and applied to the lower-cased ones. Words and
    # characters are taken from the lower-cased lines, which do not contain capitals.
    learned_lines = original if recipe.tokenizer in ("bpe", "bytes") else lines
    if recipe.training_lines:
        held_out, split_seed = recipe.training_lines
        parts = split_at_random(len(lines), held_out, 0.0, split_seed)
        learned_lines = list(itertools.compress(learned_lines, parts == TRAINING))
    tokenizer = train(recipe.tokenizer, learned_lines, recipe.vocabulary)
    groups = [_encode_lines(tokenizer, together) for together in _group_lines(lines)]
    return Tokens(
        tokenizer,
        {name: _with_smallest_dtype(np.concatenate([arrays[name] for arrays in groups])) for name in groups[0]},
    )


def _group_lines(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines in groups, which limits the memory of their spans."""
    group: list[str] = []
    size = 0
    for line in lines:
        group.append(line)
        size += len(line)
        if size >= _CHARACTERS_AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _encode_lines(tokenizer: Tokenizer, lines: Sequence[str]) -> dict[str, Int[ndarray, " _"]]:
    """Return the arrays of some lines (see `Tokens`), encoded as one text: no token crosses the end of a line."""
    next_line = np.cumsum([len(line) + 1 for line in lines])
    span_list = tokenizer.spans("\n".join(lines))
    spans = np.fromiter(itertools.chain.from_iterable(span_list), np.int64, 3 * len(span_list)).reshape(-1, 3)
    line = np.searchsorted(next_line, spans[:, 1], side="right")
    inside = spans[:, 1] < next_line[line] - 1  # the line break may be a token as well
    (ids, _, ends), line = spans[inside].T, line[inside]
    # A dropped space, which no token represents, is counted with the token after it.
    last_end = np.concatenate([[0], ends[:-1]])
    first = np.concatenate([[0], next_line])[line]
    return {
        "training": ids,
        "lengths": np.bincount(line, minlength=len(lines)),
        "characters": ends - np.maximum(last_end, first),
    }


def _with_smallest_dtype(array: Int[ndarray, " numbers"]) -> Integer[ndarray, " numbers"]:
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


# The cache on disk


def _load_or_tokenize(recipe: Recipe, text: str) -> Tokens:
    folder = environment().cache / "tokens" / _folder_name(recipe)
    tokens = _read_folder(folder)
    if tokens is None:
        tokenized = tokenize(recipe, text)
        _write_folder(tokenized, folder)
        tokens = _read_folder(folder) or tokenized
    return tokens


def _folder_name(recipe: Recipe) -> str:
    description = json.dumps([VERSION, TOKENIZERS, *astuple(recipe)])
    return hashlib.sha256(description.encode()).hexdigest()[:32]


def _read_folder(folder: Path) -> Tokens | None:
    """Return the tokens in a folder of the cache; None if it is missing or damaged."""
    try:
        seal = json.loads((folder / "seal.json").read_text("utf-8"))
        digests = {file.name: _sha256_of_file(file) for file in folder.iterdir() if file.name != "seal.json"}
        if digests != seal:
            return None
        arrays = {
            Path(name).stem: np.load(folder / name, mmap_mode="r").view(ndarray)
            for name in seal
            if name.endswith(".npy")
        }
        tokenizer = from_json((folder / "tokenizer.json").read_text("utf-8"))
        os.utime(folder)  # marks it as recently used
    except (OSError, ValueError, DamagedRun):
        return None
    return Tokens(tokenizer, arrays)


def _sha256_of_file(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _write_folder(tokens: Tokens, folder: Path) -> None:
    """Write a folder of the cache; a failure is only logged."""
    new = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
        for name, array in tokens.arrays.items():
            np.save(new / f"{name}.npy", array)
        (new / "tokenizer.json").write_text(tokens.tokenizer.to_json(), "utf-8")
        seal = {file.name: _sha256_of_file(file) for file in sorted(new.iterdir())}
        (new / "seal.json").write_text(json.dumps(seal), "utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # a damaged folder
        new.replace(folder)
        _delete_old_folders(folder.parent)
    except OSError as error:  # a full disk, no permission, or another process was faster
        log.info("tokens could not be cached in %s: %s", folder.parent, error)
    finally:
        if new:
            shutil.rmtree(new, ignore_errors=True)


def _delete_old_folders(cache: Path) -> None:
    folders = sorted(cache.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in folders[_MAX_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)
