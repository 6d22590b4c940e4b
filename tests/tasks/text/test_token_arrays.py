from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.environment import environment
from explorer.errors import TextError
from explorer.tasks.text import token_arrays
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import load_text, store_text
from explorer.tasks.text.rows import drop_text_data
from explorer.tasks.text.token_arrays import Tokens, load_tokens, sentence_lines

Patch = pytest.MonkeyPatch
TOY = TextConfig(corpus="toy", size=1_009)
LINES = "The cat sat on the mat.\nA DOG SAT ON THE MAT TOO.\nThe cat and the dog sat.\n" * 3


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty cache, on disk and in memory."""
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    token_arrays.reset()
    return tmp_path / "cache" / "tokens"


def load_again(config: TextConfig = TOY) -> Tokens:
    """Return tokens as a new process would load them."""
    token_arrays.reset()
    return load_tokens(config, load_text(config))


def ids(made: Tokens) -> dict[str, list[int]]:
    return {name: array.tolist() for name, array in made.arrays.items()}


@pytest.fixture
def trained(monkeypatch: Patch) -> list[str]:
    """The tokenizers that were trained during the test."""
    trained: list[str] = []
    really = token_arrays.train

    def train(kind: str, text: Any, vocabulary: int) -> Any:
        trained.append(kind)
        return really(kind, text, vocabulary)

    monkeypatch.setattr(token_arrays, "train", train)
    return trained


def test_tokens_of_a_stream() -> None:
    made = load_again(TextConfig(corpus="toy", size=1_000, held_out=0.2, test=0.5))
    letters = {" ": 0, "a": 1, "b": 2, "c": 3}
    assert made.tokenizer.tokens == (" ", "a", "b", "c")
    expected = {"training": "abca " * 160, "held_out": " " + "abca " * 20, "test": " " + "abca " * 20}
    assert ids(made) == {name: [letters[letter] for letter in text] for name, text in expected.items()}
    assert {array.dtype for array in made.arrays.values()} == {np.dtype("uint8")}
    made = load_again(TextConfig(corpus="toy", size=1_000, split="windows"))  # without a held-out end
    assert [(name, len(array)) for name, array in made.arrays.items()] == [("training", 1_000)]


def test_what_tokenizers_learn_from() -> None:
    sha = store_text("one two three " * 30 + "~ ~ ~ four four ~ ")
    kinds: Any = ("char", "word", "bpe")
    for kind in kinds:
        made = load_again(TextConfig(corpus="own", text=sha, tokenizer=kind, vocabulary=300, held_out=0.04))
        assert any("~" in token for token in made.tokenizer.tokens) == (kind == "char")
        assert kind == "char" or (made.arrays["held_out"] == made.tokenizer.unknown).any()
    settings: Any = {"corpus": "own", "text": store_text(LINES), "rows": "sentences", "split": "pairs", "lower": True}
    pieces = load_again(TextConfig(**settings, tokenizer="bpe"))
    assert any(token.isupper() for token in pieces.tokenizer.tokens)
    first = pieces.arrays["training"][: pieces.arrays["lengths"][0]]
    assert first.tolist() == pieces.tokenizer.encode("the cat sat on the mat.").tolist()
    letters = load_again(TextConfig(**settings, tokenizer="char"))
    assert not any(token.isupper() for token in letters.tokenizer.tokens)


def test_sentence_lines_follow_the_assignment() -> None:
    accepted = ["one two three four five six", "w" * 17 + " a b c d"]
    left_out = ["", "too few words here,", "four words and nomore", " ".join(["word"] * 31)]
    left_out += ["a b c d e f g h i j", "= one two three four five six", "@ one two three four five six"]
    text = "\n".join([left_out[0], f"  {accepted[0]}\t", *left_out[1:], accepted[1]])
    assert sentence_lines(text) == accepted


@pytest.mark.parametrize(
    ("text", "message"),
    [("just a few words\n" * 9, "^No line of"), ("one two three four five six", "^One line of"), ("", "^No line")],
)
def test_a_text_without_sentence_lines_raises_one_sentence(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message + ".*5 to 30 words.*Choose rows = blocks, or another text.$"):
        sentence_lines(text)


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
def test_tokens_of_lines(kind: str, monkeypatch: Patch) -> None:
    settings: Any = {"corpus": "own", "text": store_text(LINES), "rows": "sentences", "split": "pairs"}
    config = TextConfig(**settings, tokenizer=kind, vocabulary=300)  # type: ignore[arg-type]
    made = load_again(config)
    lines, ends = sentence_lines(LINES), np.cumsum(made.arrays["lengths"]).tolist()
    for line, first, end in zip(lines, [0, *ends], ends, strict=False):
        assert made.arrays["training"][first:end].tolist() == made.tokenizer.encode(line).tolist()
        assert made.arrays["characters"][first:end].sum() == len(line)
    assert ends[-1] == len(made.arrays["training"]) == len(made.arrays["characters"])
    monkeypatch.setattr(token_arrays, "_CHARACTERS_AT_ONCE", 40)  # encoded in groups
    assert ids(load_again(config)) == ids(made)


# The cache


def test_tokens_are_computed_once_and_are_read_only_memory_maps(cache: Path, trained: list[str]) -> None:
    first = ids(load_again())
    assert trained == ["char"]
    again = load_again()
    assert trained == ["char"]
    assert ids(again) == first
    assert again.tokenizer.tokens == (" ", "a", "b", "c")
    array = again.arrays["training"]
    assert isinstance(array.base, np.memmap)
    assert type(array) is np.ndarray  # a memmap takes long to index
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    assert cache.parent == environment().cache


def test_settings_that_affect_tokens_have_their_own_folder(cache: Path, trained: list[str]) -> None:
    load_again()
    for shared in ({"context": 7}, {"batches": "contiguous"}, {"vocabulary": 9}, {"corpus_seed": 5}):
        load_again(TextConfig(corpus="toy", size=1_009, **shared))  # type: ignore[arg-type]
    assert len(list(cache.iterdir())) == len(trained) == 1
    others: list[dict[str, Any]] = [{"size": 1_013}, {"held_out": 0.2}, {"split": "windows"}, {"tokenizer": "bpe"}]
    others += [{"tokenizer": "word"}, {"lower": True}, {"corpus": "brackets"}, {"test": 0.5}]
    for count, changes in enumerate(others, start=2):
        load_again(TextConfig(**{"corpus": "toy", "size": 1_009} | changes))
        assert len(list(cache.iterdir())) == count, changes


def change_file(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Return a function that changes the content of a file in a folder."""
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def empty_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": change_file("training.npy", lambda content: content[:-5]),
    "another last byte": change_file("held_out.npy", lambda content: content[:-1] + bytes([content[-1] ^ 255])),
    "no array": lambda folder: (folder / "training.npy").unlink(),
    "no seal": lambda folder: (folder / "seal.json").unlink(),
    "a broken seal": change_file("seal.json", lambda _: b"\xff{"),
    "a list as seal": change_file("seal.json", lambda _: b"[1]"),
    "an empty seal": change_file("seal.json", lambda _: b"{}"),
    "another tokenizer": change_file("tokenizer.json", lambda _: b"{}"),
    "an empty folder": empty_folder,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_replaced(damage: Callable[[Path], None], cache: Path, trained: list[str]) -> None:
    sound = ids(load_again())
    (folder,) = cache.iterdir()
    damage(folder)
    assert ids(load_again()) == sound
    assert trained == ["char", "char"]
    assert ids(load_again()) == sound
    assert trained == ["char", "char"]
    assert list(cache.iterdir()) == [folder]


def test_a_cache_that_cannot_be_written_is_not_used(cache: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    def save(file: Path, array: np.ndarray) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(token_arrays.np, "save", save)
    sound = ids(load_again())
    assert len(sound["training"]) == 908
    assert list(cache.iterdir()) == []
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "file" / "cache"))
    assert ids(load_again()) == sound


def test_texts_of_visitors_are_not_written_and_can_be_dropped(cache: Path, tmp_path: Path, trained: list[str]) -> None:
    sha = store_text("nobody else may read this letter, ever and ever")
    assert len(load_again(TextConfig(corpus="own", text=sha)).arrays["training"]) == 42
    assert not (tmp_path / "cache").exists()
    config = TextConfig(corpus="own", text=store_text("a letter to nobody, and nobody answers"))
    text = load_text(config)
    assert load_tokens(config, text) is load_tokens(config, text)
    drop_text_data(config.text)
    load_tokens(config, text)
    assert trained == ["char"] * 3


def test_the_least_recently_used_folder_is_deleted(cache: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(token_arrays, "_MAX_FOLDERS", 3)
    configs = [TextConfig(corpus="toy", size=1_000 + size) for size in range(5)]
    recipes = {config.size: token_arrays.recipe_of(config, load_text(config)) for config in configs}
    folders = {size: cache / token_arrays._folder_name(recipe) for size, recipe in recipes.items()}
    for config in configs[:3]:
        load_again(config)
    for age, config in enumerate(configs[:3]):
        token_arrays.os.utime(folders[config.size], (1_000 - age, 1_000 - age))
    load_again(configs[2])  # used again
    load_again(configs[3])
    assert {size for size, folder in folders.items() if folder.exists()} == {1_000, 1_002, 1_003}
    assert len(list(cache.iterdir())) == 3
