from __future__ import annotations

import json
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
from explorer.tasks.text.token_arrays import Tokens, load_tokens, sentence_lines, split_text

Patch = pytest.MonkeyPatch
TOY = TextConfig(corpus="toy", size=1_009)


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
    made = load_again(TextConfig(corpus="toy", size=1_000, held_out=0.2))
    letters = {" ": 0, "a": 1, "b": 2, "c": 3}
    assert made.tokenizer.tokens == (" ", "a", "b", "c")
    assert ids(made) == {
        "training": [letters[letter] for letter in "abca " * 160],
        "held_out": [letters[letter] for letter in " " + "abca " * 40],
    }
    assert {array.dtype for array in made.arrays.values()} == {np.dtype("uint8")}


def test_a_stream_without_a_held_out_end_is_all_training() -> None:
    made = load_again(TextConfig(corpus="toy", size=1_000, split="windows"))
    assert [(name, len(array)) for name, array in made.arrays.items()] == [("training", 1_000)]


def test_characters_come_from_the_whole_text_but_pieces_and_words_from_the_training_part() -> None:
    sha = store_text("one two three " * 30 + "~ ~ ~ four four ~ ")
    made = {
        kind: load_again(TextConfig(corpus="own", text=sha, tokenizer=kind, vocabulary=300, held_out=0.04))  # type: ignore[arg-type]
        for kind in ("char", "word", "bpe")
    }
    assert "~" in made["char"].tokenizer.tokens
    for kind in ("word", "bpe"):
        assert not any("~" in token for token in made[kind].tokenizer.tokens), kind
        assert (made[kind].arrays["held_out"] == made[kind].tokenizer.unknown).any()


@pytest.mark.parametrize(
    ("size", "held_out", "cut"), [(1_115_394, 0.1, 1_003_854), (20, 0.1, 18), (20, 0.5, 10), (101, 0.01, 99)]
)
def test_split_text(size: int, held_out: float, cut: int) -> None:
    training, end = split_text("x" * size, held_out)
    assert (len(training), len(end)) == (cut, size - cut)


def test_sentence_lines_follow_the_assignment() -> None:
    accepted = ["one two three four five six", "w" * 17 + " a b c d"]
    left_out = [
        "",
        "too few words here, only sixteen letters"[:20],
        "four words and nomore",
        "a b c d e f g h i j",  # twenty characters at most
        "= one two three four five six",
        "@ one two three four five six",
        " ".join(["word"] * 31),
    ]
    text = "\n".join([left_out[0], f"  {accepted[0]}\t", *left_out[1:], accepted[1]])
    assert sentence_lines(text) == accepted


@pytest.mark.parametrize(
    ("text", "message"),
    [("just a few words\n" * 9, "^No line of"), ("one two three four five six", "^One line of"), ("", "^No line")],
)
def test_a_text_without_sentence_lines_raises_one_sentence(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message + ".*5 to 30 words.*Choose rows = blocks, or another text.$"):
        sentence_lines(text)


LINES = "The cat sat on the mat.\nA DOG SAT ON THE MAT TOO.\nThe cat and the dog sat.\n" * 3


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
def test_tokens_of_lines(kind: str) -> None:
    sha = store_text(LINES)
    settings: Any = {"corpus": "own", "text": sha, "rows": "sentences", "split": "pairs", "tokenizer": kind}
    made = load_again(TextConfig(**settings, vocabulary=300))
    lines, ends = sentence_lines(LINES), np.cumsum(made.arrays["lengths"]).tolist()
    for line, first, end in zip(lines, [0, *ends], ends, strict=False):
        assert made.arrays["training"][first:end].tolist() == made.tokenizer.encode(line).tolist()
        assert made.arrays["characters"][first:end].sum() == len(line)
    assert ends[-1] == len(made.arrays["training"]) == len(made.arrays["characters"])


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "bytes"])
def test_encoding_lines_in_groups_changes_nothing(kind: str, monkeypatch: Patch) -> None:
    settings: Any = {
        "corpus": "own",
        "text": store_text(LINES),
        "rows": "sentences",
        "split": "pairs",
        "tokenizer": kind,
    }
    together = ids(load_again(TextConfig(**settings)))
    monkeypatch.setattr(token_arrays, "_CHARACTERS_AT_ONCE", 40)
    assert ids(load_again(TextConfig(**settings))) == together


def test_lower_case_lines_use_pieces_learned_from_the_original_lines() -> None:
    sha = store_text(LINES)
    settings: Any = {"corpus": "own", "text": sha, "rows": "sentences", "split": "pairs", "lower": True}
    pieces = load_again(TextConfig(**settings, tokenizer="bpe"))
    assert any(token.isupper() for token in pieces.tokenizer.tokens)
    first = pieces.arrays["training"][: pieces.arrays["lengths"][0]]
    assert first.tolist() == pieces.tokenizer.encode("the cat sat on the mat.").tolist()
    letters = load_again(TextConfig(**settings, tokenizer="char"))
    assert not any(token.isupper() for token in letters.tokenizer.tokens)


# The cache


def test_tokens_are_computed_once(cache: Path, trained: list[str]) -> None:
    first = ids(load_again())
    assert trained == ["char"]
    again = load_again()
    assert trained == ["char"]
    assert ids(again) == first
    assert again.tokenizer.tokens == (" ", "a", "b", "c")
    assert [file.name for file in sorted(next(cache.iterdir()).iterdir())] == [
        "held_out.npy",
        "seal.json",
        "tokenizer.json",
        "training.npy",
    ]


def test_arrays_are_read_only_memory_maps(cache: Path) -> None:
    for made in (load_again(), load_again()):  # made now, and found
        array = made.arrays["training"]
        assert isinstance(array.base, np.memmap)
        assert type(array) is np.ndarray  # a memmap takes long to index
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    "changes",
    [
        {"size": 1_013},
        {"held_out": 0.2},
        {"split": "windows"},
        {"tokenizer": "bpe"},
        {"tokenizer": "word"},
        {"lower": True},
        {"corpus": "brackets"},
    ],
    ids=str,
)
def test_settings_that_affect_tokens_have_their_own_folder(changes: dict[str, Any], cache: Path) -> None:
    load_again()
    load_again(TextConfig(**{"corpus": "toy", "size": 1_009} | changes))
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize(
    "changes", [{"context": 7}, {"batches": "contiguous"}, {"vocabulary": 9}, {"corpus_seed": 5}], ids=str
)
def test_settings_that_do_not_affect_tokens_share_a_folder(
    changes: dict[str, Any], trained: list[str], cache: Path
) -> None:
    load_again()
    load_again(TextConfig(corpus="toy", size=1_009, **changes))
    assert len(list(cache.iterdir())) == 1
    assert trained == ["char"]


def truncated(folder: Path) -> None:
    file = folder / "training.npy"
    file.write_bytes(file.read_bytes()[:-5])


def flipped(folder: Path) -> None:
    file = folder / "held_out.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 255
    file.write_bytes(content)


def no_file(folder: Path) -> None:
    (folder / "training.npy").unlink()


def no_seal(folder: Path) -> None:
    (folder / "seal.json").unlink()


def broken_seal(folder: Path) -> None:
    (folder / "seal.json").write_bytes(b"\xff{")


def strange_seal(folder: Path) -> None:
    (folder / "seal.json").write_text("[1]")


def empty_seal(folder: Path) -> None:
    (folder / "seal.json").write_text("{}")


def seal_of_less(folder: Path) -> None:
    seal = json.loads((folder / "seal.json").read_text())
    del seal["held_out.npy"]
    (folder / "seal.json").write_text(json.dumps(seal))


def another_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def empty_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        flipped,
        no_file,
        no_seal,
        broken_seal,
        strange_seal,
        empty_seal,
        seal_of_less,
        another_tokenizer,
        empty_folder,
    ],
)
def test_a_damaged_folder_is_replaced(damage: Callable[[Path], None], cache: Path, trained: list[str]) -> None:
    sound = ids(load_again())
    (folder,) = cache.iterdir()
    damage(folder)
    assert ids(load_again()) == sound
    assert trained == ["char", "char"]
    assert ids(load_again()) == sound
    assert trained == ["char", "char"]
    assert list(cache.iterdir()) == [folder]


def test_an_unwritable_cache_is_not_used(tmp_path: Path, monkeypatch: Patch) -> None:
    sound = ids(load_again())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "file" / "cache"))
    assert ids(load_again()) == sound


def test_a_full_disk_leaves_no_files(cache: Path, monkeypatch: Patch) -> None:
    def save(file: Path, array: np.ndarray) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(token_arrays.np, "save", save)
    assert len(load_again().arrays["training"]) == 908
    assert list(cache.iterdir()) == []


def test_texts_of_visitors_are_never_written(cache: Path, tmp_path: Path) -> None:
    sha = store_text("nobody else may read this letter, ever and ever")
    assert len(load_again(TextConfig(corpus="own", text=sha)).arrays["training"]) == 42
    assert not cache.exists()
    assert not (tmp_path / "cache").exists()


def test_the_least_recently_used_folder_is_deleted(cache: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(token_arrays, "_MAX_FOLDERS", 3)
    configs = [TextConfig(corpus="toy", size=1_000 + size) for size in range(5)]
    folders = {
        config.size: cache / token_arrays._folder_name(token_arrays.recipe_of(config, load_text(config)))
        for config in configs
    }
    for config in configs[:3]:
        load_again(config)
    for age, config in enumerate(configs[:3]):
        token_arrays.os.utime(folders[config.size], (1_000 - age, 1_000 - age))
    load_again(configs[2])  # used again
    load_again(configs[3])
    assert {size for size, folder in folders.items() if folder.exists()} == {1_000, 1_002, 1_003}
    assert len(list(cache.iterdir())) == 3


def test_drop_tokens_of_a_visitors_text(trained: list[str]) -> None:
    config = TextConfig(corpus="own", text=store_text("a letter to nobody, and nobody answers"))
    text = load_text(config)
    assert load_tokens(config, text) is load_tokens(config, text)
    token_arrays.drop_tokens(config.text)
    load_tokens(config, text)
    assert trained == ["char", "char"]


def test_the_cache_is_where_the_environment_says(cache: Path) -> None:
    load_again()
    assert cache.parent == environment().cache
