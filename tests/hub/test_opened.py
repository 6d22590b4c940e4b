"""Opening folders: what the card says, what is refused and why, and one copy in memory for all visitors."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import tokenizers
import torch
from safetensors.numpy import load_file, save_file

from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError
from explorer.hub import files, loading, memory, opened
from explorer.hub.allowed import allowed_models, find_allowed
from tests import needs
from tests.hub.tiny_models import random_model, save_random_model

pytestmark = needs.transformers
Patch = pytest.MonkeyPatch
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny GPT-2 with a licence."""
    place = save_random_model("gpt2", tmp_path / "tiny GPT")
    (place / "README.md").write_text("---\nlicense: mit\ntags: [a]\n---\n# A model\n", "utf-8")
    return place


def change_json(file: Path, **changes: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changes), "utf-8")


def write(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def test_the_card_of_a_folder_has_the_facts_of_its_files(folder: Path) -> None:
    card = opened.open_model(str(folder))
    assert (card.name, card.source, card.from_folder, card.revision) == ("tiny-gpt", str(folder), True, "")
    assert (card.kind, card.model_type, card.licence, card.predicts) == ("decoder", "gpt2", "mit", True)
    assert (card.layers, card.heads, card.width, card.context, card.vocabulary) == (3, 4, 32, 40, 67)
    assert card.precision == "32-bit weights" and card.bytes == (folder / "model.safetensors").stat().st_size
    module = opened.load_model(card)
    assert card.parameters == sum(weight.numel() for weight in module.model.parameters())
    assert opened.find_card("tiny-gpt") == opened.find_card("hub:tiny-gpt") == card
    assert opened.opened_models() == [card] and not card.tried
    assert {"training": "not trained here", "layers × heads": "3 × 4"}.items() <= dict(card.facts()).items()


def test_the_card_says_the_precision_of_the_stored_weights(tmp_path: Path) -> None:
    for name in ("float16", "bfloat16"):
        random_model("gpt2").to(getattr(torch, name)).save_pretrained(tmp_path / name)
        card = opened.open_model(str(tmp_path / name))
        assert card.precision == f"16-bit ({name}) weights made float32"
        assert {weight.dtype for weight in opened.load_model(card).parameters()} == {torch.float32}


def test_a_model_in_several_files_and_one_behind_links_of_a_cache_are_opened(folder: Path, tmp_path: Path) -> None:
    random_model("gpt2").save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    assert len(files.weight_files(tmp_path / "shards")) > 2
    whole, card = opened.open_model(str(folder)), opened.open_model(str(tmp_path / "shards"))
    assert (card.parameters, card.layers) == (whole.parameters, whole.layers)
    snapshot, blobs = tmp_path / "cache" / "snapshots" / "1", tmp_path / "cache" / "blobs"
    snapshot.mkdir(parents=True)
    for file in shutil.copytree(folder, blobs).iterdir():
        (snapshot / file.name).symlink_to(Path("../../blobs") / file.name)
    assert opened.open_model(str(snapshot), "linked").parameters == whole.parameters


def lose_a_weight(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    del weights[min(weights)]
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def spoil_a_weight(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    weights[min(weights)].flat[0] = np.nan
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def save_large_tokenizer(folder: Path) -> None:
    ids = {f"w{i}": i for i in range(5_000)}
    tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, "w0")).save(str(folder / "tokenizer.json"))


def write_index(folder: Path, file: str) -> None:
    """Let an index name the only file with weights."""
    (folder / "model.safetensors").rename(folder.parent / "model.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": file}}), "utf-8")


def link_outside(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder.parent / "elsewhere.safetensors")
    (folder / "model.safetensors").symlink_to(folder.parent / "elsewhere.safetensors")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "pickled weights": (lambda f: (f / WEIGHTS).rename(f / "pytorch_model.bin"), f"no {WEIGHTS}. It has pytorch"),
    "code": (lambda f: change_json(f / "config.json", auto_map={"AutoModel": "code.Model"}), "auto_map"),
    "code of a tokenizer": (write("tokenizer_config.json", b'{"auto_map": {"a": ["a.b", null]}}'), "is Python code"),
    "an unknown family": (lambda f: change_json(f / "config.json", model_type="bloom"), "bloom"),
    "a missing weight": (lose_a_weight, "1 weights of this model are missing"),
    "another width": (lambda f: change_json(f / "config.json", n_embd=48), "another shape|cannot be loaded"),
    "no configuration": (lambda f: (f / "config.json").unlink(), "has no config.json"),
    "a broken configuration": (write("config.json", b"[1]"), "it holds no object"),
    "no JSON": (write("config.json", b"{"), r"config\.json cannot be read"),
    "a byte order mark": (write("config.json", b"\xef\xbb\xbf{}"), "BOM"),
    "no numbers": (spoil_a_weight, "hold values that are no finite numbers"),
    "another tokenizer": (save_large_tokenizer, "belongs to a larger model"),
    "a path in the index": (lambda f: write_index(f, "../model.safetensors"), "files that are not in the same folder"),
    "a link out of the folder": (link_outside, "leads to .*elsewhere.safetensors, outside of it"),
    "a link to itself": (lambda f: (f / "vocab.txt").symlink_to("vocab.txt"), "cannot be read"),
    "a missing shard": (lambda f: write_index(f, "model-1.safetensors"), "1 of 1 files with weights are missing"),
    "no safetensors": (write(WEIGHTS, b"\x80\x04pickle"), r"model\.safetensors cannot be read"),
    "whole numbers": (lambda f: save_file({"a": np.zeros((9, 9), np.int8)}, f / WEIGHTS), "stored as I8, which Line"),
}


def test_a_folder_is_refused_with_the_reason_and_leaves_no_card(folder: Path, tmp_path: Path) -> None:
    for what, (change, reason) in REFUSED.items():
        change(copy := shutil.copytree(folder, tmp_path / what / "model"))
        with pytest.raises(InvalidSetting, match=reason):
            opened.open_model(str(copy))
        assert opened.opened_models() == [] and memory.loaded_bytes() == 0


def test_what_is_neither_allowed_nor_a_folder_nor_a_name_is_refused(folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(files, "inspect_folder", None)  # would fail: names are checked first
    for name in ("../x", "A", ".x", "a/b", "x" * 65, "a b"):
        with pytest.raises(InvalidSetting, match="is no name of a model"):
            opened.open_model(str(folder), name)
        with pytest.raises(InvalidSetting, match="No real model"):
            opened.find_card(name)
    with pytest.raises(InvalidSetting, match="A folder has no revisions"):
        opened.open_model(str(folder), revision="main")
    for revision in ("../x", "a/b", "-x", "x" * 101):
        with pytest.raises(InvalidSetting, match="is no revision"):
            opened.open_model("gpt2", revision=revision)
    for given in ("", "gpt3", "evil/model", "a\0b", "x" * 5_000, "~nobody-here/model"):
        with pytest.raises(InvalidSetting, match=r"neither a folder on this .*nor a .*Allowed are: gpt2, distilgpt2"):
            opened.open_model(given)


def test_a_name_belongs_to_one_source_until_it_is_closed(folder: Path, tmp_path: Path) -> None:
    card = opened.open_model(str(folder), "a")
    assert opened.open_model(str(folder), "a").name == "a"
    other = save_random_model("bert", tmp_path / "other")
    with pytest.raises(InvalidSetting, match=r"is open as a\. Close it"):
        opened.open_model(str(other), "a")
    assert opened.close_model("hub:a").source == card.source
    assert opened.opened_models() == [] and (folder / "model.safetensors").is_file()
    assert opened.open_model(str(other), "a").kind == "encoder"
    opened.close_model("a")
    with pytest.raises(InvalidSetting, match="No real model “a” is open"):
        opened.close_model("a")


def test_a_folder_that_has_changed_or_is_gone_is_not_shown(folder: Path) -> None:
    card = opened.open_model(str(folder), "tiny")
    os.utime(folder / WEIGHTS, (0, 0))
    with pytest.raises(InvalidSetting, match=r"have changed since it was opened\. .*lineage open FOLDER --name tiny"):
        opened.load_model(card)
    again = opened.open_model(str(folder), "tiny")
    assert again.fingerprint != card.fingerprint
    opened.load_model(again)
    change_json(folder / "config.json", n_positions=41)
    with pytest.raises(InvalidSetting, match="have changed"):
        opened.load_model(again)
    shutil.rmtree(folder)
    with pytest.raises(InvalidSetting, match="are no longer where they were"):
        opened.load_model(again)


def test_a_card_that_cannot_be_written_or_read_is_left_out(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: Patch
) -> None:
    opened.open_model(str(folder), "a")
    card = opened.open_model(str(folder), "b")
    file = environment().opened_models / "a" / "card.json"
    for content in ("{", json.dumps({"name": "a"}), card.model_dump_json()):
        file.write_text(content, "utf-8")
        assert opened.opened_models() == [card]
        assert "The card of the model a cannot be read" in caplog.text
        caplog.clear()

    with monkeypatch.context() as changed, pytest.raises(StoreError, match="could not be written: the disk is full"):
        changed.setattr(opened, "write_file", Mock(side_effect=OSError(28, "No space left on device")))
        opened.open_model(str(folder), "c")
    assert opened.opened_models() == [card]


def test_the_operator_sets_the_list_and_revisions(monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_MODELS", "gpt2@abc, Owner/My-Model@v1.0, openai-community/gpt2-medium")
    models = allowed_models()
    assert [(m.name, m.id, m.revision) for m in models.values()] == [
        ("gpt2", "openai-community/gpt2", "abc"),
        ("my-model", "Owner/My-Model", "v1.0"),
        ("gpt2-medium", "openai-community/gpt2-medium", ""),
    ]
    assert find_allowed("distilgpt2") is None
    assert find_allowed("gpt2") == find_allowed(" OpenAI-Community/GPT2 ") == models["gpt2"]
    monkeypatch.setenv("LINEAGE_MODELS", "")
    assert allowed_models() == {}
    for wrong in ("no-such-name", "../x", "a/b/c", "a b", "gpt2@", "gpt2@../x", "https://example.org/x"):
        monkeypatch.setenv("LINEAGE_MODELS", wrong)
        with pytest.raises(InvalidSetting, match="“no-such-name”, which is no short" if "-" in wrong else "LINEAGE_MO"):
            allowed_models()


def test_visitors_who_ask_at_once_share_one_copy_and_wait_for_no_other_model(
    folder: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    card = opened.open_model(str(folder))
    other = opened.open_model(str(save_random_model("bert", tmp_path / "other")))
    memory.drop(other.folder)
    begun, go_on, load = threading.Event(), threading.Event(), loading.load

    def wait(place: Path) -> object:
        begun.set()
        go_on.wait(60)
        return load(place)

    monkeypatch.setattr(loading, "load", loader := Mock(side_effect=wait))
    with ThreadPoolExecutor(8) as visitors:
        found = visitors.map(opened.load_model, [other] * 8)
        assert begun.wait(60)
        opened.load_model(card)  # does not wait
        go_on.set()
    assert loader.call_count == len({id(module) for module in found}) == 1


def test_the_least_recently_used_model_leaves_when_the_memory_is_full(tmp_path: Path, monkeypatch: Patch) -> None:
    cards = [opened.open_model(str(save_random_model("gpt2", tmp_path / f"m{i}"))) for i in range(3)]
    memory.reset()
    monkeypatch.setenv("LINEAGE_MODELS_MEMORY", "1000")
    with monkeypatch.context() as changed, pytest.raises(InvalidSetting, match=r"needs .* in 32 bits; .* smaller mod"):
        changed.setattr(loading, "load", None)  # would fail
        opened.open_model(cards[0].folder)
    size = cards[0].memory
    monkeypatch.setenv("LINEAGE_MODELS_MEMORY", str(2 * size + size // 2))
    first, second = opened.load_model(cards[0]), opened.load_model(cards[1])
    assert opened.load_model(cards[0]) is first
    opened.load_model(cards[2])
    assert memory.loaded_bytes() == 2 * size
    assert opened.load_model(cards[0]) is first
    assert opened.load_model(cards[1]) is not second
    monkeypatch.setattr(memory, "MOST_MODELS", 1)
    opened.load_model(cards[2])
    assert memory.loaded_bytes() == size


def test_a_model_that_cannot_be_loaded_is_tried_once_until_its_files_change(folder: Path, monkeypatch: Patch) -> None:
    card = opened.open_model(str(folder))
    memory.reset()
    with monkeypatch.context() as changed:
        changed.setattr(loading, "load", load := Mock(side_effect=InvalidSetting("It cannot be shown.")))
        for _ in range(3):
            with pytest.raises(InvalidSetting, match="It cannot be shown"):
                opened.load_model(card)
        load.assert_called_once()
    opened.load_model(opened.open_model(str(folder)))
