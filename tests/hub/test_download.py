"""Downloads from a server on this machine: checks before the weights, resuming, checksums, and clear errors."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.hub import download, opened, opening
from explorer.hub.download import Progress
from tests import needs
from tests.hub.fake_hub import COMMIT, OTHER_COMMIT, FakeHub, read_folder, serve
from tests.hub.tiny_models import random_model, save_random_model
from tests.waiting import wait_until

pytestmark = needs.transformers
Patch = pytest.MonkeyPatch
ID, NAME = "Tiny/GPT2-test", "gpt2-test"
WEIGHTS, NO_WEIGHTS = "model.safetensors", "is no safetensors file"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: Patch) -> Iterator[FakeHub]:
    """A server with a repository, of which not all files may be downloaded."""
    files = read_folder(save_random_model("gpt2", tmp_path / "gpt2"))
    files |= {"pytorch_model.bin": b"pickle", "code.py": b"raise SystemExit", "onnx/model.safetensors": b"other"}
    monkeypatch.setenv("LINEAGE_MODELS", ID)
    with serve(FakeHub(ID, {**files, "tokenizer_config.json": b"{}"})) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


def weight_requests(hub: FakeHub) -> list[str]:
    """Return the ranges of the requests for weights, without those for the header."""
    ranges = [wanted for path, wanted in hub.requests if path.endswith(".safetensors")]
    return [wanted for wanted in ranges if not wanted.startswith("bytes=0-")]


def test_a_download_brings_what_is_needed_and_the_card_names_its_commit(hub: FakeHub) -> None:
    progress = Progress()
    card = opened.open_model(ID.casefold(), progress=progress)
    assert (card.name, card.source, card.revision, card.licence) == (NAME, ID, COMMIT, "mit")
    assert not card.from_folder and card.layers == 3
    assert (folder := Path(card.folder)) == environment().downloaded_models / "Tiny--GPT2-test" / COMMIT
    names = {"config.json", "generation_config.json", "tokenizer_config.json", "model.safetensors"}
    assert {file.name for file in folder.iterdir()} == {*names, "source.json"}
    size = sum(len(hub.files[name]) for name in names)
    assert (progress.received, progress.total, progress.stage) == (size, size, "open")


def test_what_is_on_this_machine_needs_no_request(hub: FakeHub, monkeypatch: Patch) -> None:
    card = opened.open_model(NAME)
    hub.requests.clear()
    hub.commit = OTHER_COMMIT  # the main branch has moved: an opened model stays at its commit
    assert opened.open_model(NAME).revision == COMMIT and not hub.requests
    opened.close_model(NAME)
    again = opened.open_model(NAME, offline=True)
    assert (again.revision, again.licence, again.folder) == (COMMIT, "mit", card.folder)
    opened.close_model(NAME)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert opened.open_model(NAME, revision=COMMIT).folder == card.folder
    opened.close_model(NAME)
    shutil.rmtree(card.folder)
    with pytest.raises(InvalidSetting, match="not on this machine, and requests to the hub are switched off"):
        opened.open_model(NAME)
    assert not hub.requests


def test_a_model_in_the_cache_of_huggingface_hub_is_used(hub: FakeHub, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path / "hf"))
    repository = tmp_path / "hf" / "models--Tiny--GPT2-test"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT, "utf-8")
    snapshot = save_random_model("gpt2", repository / "snapshots" / COMMIT)
    card = opened.open_model(NAME, offline=True)
    assert (card.folder, card.revision) == (str(snapshot), COMMIT) and not hub.requests
    opened.close_model(NAME)
    (snapshot / "model.safetensors").unlink()  # an incomplete snapshot
    with pytest.raises(InvalidSetting, match="not on this machine"):
        opened.open_model(NAME, offline=True)


def test_other_revisions_and_shards_are_downloaded(hub: FakeHub, tmp_path: Path) -> None:
    hub.commit = OTHER_COMMIT
    card = opened.open_model(NAME, "step-1000", revision="step1000")
    assert (card.name, card.revision) == ("step-1000", OTHER_COMMIT)
    assert hub.requests[0][0] == f"/api/models/{ID}/revision/step1000"
    random_model("gpt2").save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    hub.files = read_folder(tmp_path / "shards")
    assert opened.open_model(NAME).layers == 3


@pytest.mark.parametrize("ignores_ranges", [False, True])
def test_an_interrupted_download_continues_or_receives_everything_again(ignores_ranges: bool, hub: FakeHub) -> None:
    hub.ignores_ranges, hub.end_after, progress = ignores_ranges, 40_000, Progress()  # of about 170,000 bytes
    assert opened.open_model(NAME, progress=progress).layers == 3
    assert [wanted for wanted in weight_requests(hub) if wanted] == ["bytes=40000-"]
    assert progress.received == progress.total


def test_a_cancelled_download_continues_when_the_model_is_opened_again(hub: FakeHub) -> None:
    hub.paused.clear()
    progress = Progress()
    with ThreadPoolExecutor(1) as visitor:
        opening_model = visitor.submit(opened.open_model, NAME, progress=progress)
        wait_until(lambda: any(path.endswith(".safetensors") and not wanted for path, wanted in hub.requests))
        progress.cancel()
        hub.paused.set()
        with pytest.raises(InvalidSetting, match=r"^Cancelled\. What has arrived is kept, and opening the model again"):
            opening_model.result()
    assert opened.opened_models() == []
    part = environment().downloaded_models / "Tiny--GPT2-test" / COMMIT / ".model.safetensors.part"
    have = part.stat().st_size
    assert 0 < have < len(hub.files["model.safetensors"])
    assert opened.open_model(NAME).name == NAME
    assert weight_requests(hub)[-1] == f"bytes={have}-"


def test_other_content_than_the_hub_names_is_deleted(hub: FakeHub) -> None:
    weights, config = hub.files["model.safetensors"], hub.files["config.json"]
    for name, changed in (
        ("generation_config.json", hub.files["generation_config.json"] + b" " * 3_000_000),  # longer than announced
        (WEIGHTS, weights[:-1] + b"\x7f"),
        ("config.json", config.replace(b'"n_layer": 3', b'"n_layer": 2')),
    ):
        assert changed != hub.files[name]
        shutil.rmtree(environment().downloaded_models, ignore_errors=True)
        hub.replaced = {name: changed}
        with pytest.raises(InvalidSetting, match=f"{name} has arrived with other content than the hub names"):
            opened.open_model(NAME)
    hub.replaced = {}
    assert opened.open_model(NAME).layers == 3


REFUSED: list[tuple[str, bytes | None, str]] = [  # a file, its content, and the reason
    ("config.json", b'{"model_type": "gpt2", "auto_map": {"AutoModel": "code.Model"}}', "auto_map"),
    ("tokenizer_config.json", b'{"auto_map": {"a": "b"}}', "tokenizer .* is Python code"),
    ("model.safetensors", None, "has no model.safetensors. It has pytorch"),
    ("config.json", None, "has no config.json"),
    ("config.json", b"<html>", "config.json of .* cannot be read"),
    (WEIGHTS, b"\xff" * 40, NO_WEIGHTS),
    (WEIGHTS, b"\x1d" + bytes(7) + b'{"a":{"dtype":1,"shape":["x"]}', NO_WEIGHTS),
]


def test_a_repository_is_refused_before_its_weights_are_downloaded(hub: FakeHub) -> None:
    files = hub.files
    for name, content, reason in REFUSED:
        hub.files = {**files, name: content} if content else {other: files[other] for other in files if other != name}
        with pytest.raises(InvalidSetting, match=reason):
            opened.open_model(NAME)
        assert not environment().downloaded_models.exists() and opened.opened_models() == []


def test_memory_and_disk_are_checked_before_and_during_the_download(hub: FakeHub, monkeypatch: Patch) -> None:
    with monkeypatch.context() as changed, pytest.raises(InvalidSetting, match="all loaded models together"):
        changed.setenv("LINEAGE_MODELS_MEMORY", "1000")
        opened.open_model(NAME)
    with monkeypatch.context() as changed, pytest.raises(InvalidSetting, match=r"on disk, and .* smaller model"):
        changed.setattr(download, "_ROOM", 10**15)
        opened.open_model(NAME)
    assert not weight_requests(hub) and not environment().downloaded_models.exists()
    monkeypatch.setattr(download, "_receive", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(InvalidSetting, match="The disk is full"):
        opened.open_model(NAME)


def test_what_the_hub_refuses_and_no_network_are_one_sentence(hub: FakeHub, monkeypatch: Patch) -> None:
    for status, code, reason in (
        (403, "GatedRepo", f"{ID} is gated"),
        (404, "RepoNotFound", f"no repository {ID}"),
        (401, "", f"refuses access to {ID}"),
        (404, "RevisionNotFound", "no such revision"),
        (503, "", "answered the request for .* with 503"),
    ):
        hub.refuse = status, code
        with pytest.raises(InvalidSetting, match=reason):
            opened.open_model(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the port "discard": nothing answers
    with pytest.raises(InvalidSetting, match=r"The hub could not be reached.*Without a network, open a folder"):
        opened.open_model(NAME)
    with opened._one_at_a_time(NAME), pytest.raises(InvalidSetting, match="is being opened already"):
        opened.open_model(NAME)  # by another process


def test_a_server_opens_a_model_and_says_how_far_it_is(hub: FakeHub) -> None:
    hub.paused.clear()
    current = opening.start_opening(NAME)
    wait_until(lambda: current.progress.stage == "downloading" and current.progress.received)
    assert re.fullmatch(r"downloading, [\d.]+ MB of 0\.2 MB \(.*\d+\s%\)", current.progress.describe())
    assert opening.list_openings() == [current]
    hub.paused.set()
    wait_until(lambda: not opening.list_openings())
    assert [card.name for card in opened.opened_models()] == [NAME]


def test_at_most_ten_openings_wait_and_a_failed_one_stays_until_it_is_dismissed(hub: FakeHub) -> None:
    failed = opening.start_opening("no such model")
    wait_until(lambda: failed.problem)
    assert "neither a folder" in failed.problem and opening.list_openings() == [failed]
    hub.paused.clear()
    current, waiting = opening.start_opening(NAME), opening.start_opening(NAME, "other")
    wait_until(lambda: current.progress.received)
    assert waiting.progress.describe() == "waiting"
    for number in (current.number, waiting.number, failed.number, 10**9):
        opening.cancel_or_dismiss(number)
    hub.paused.set()
    wait_until(lambda: not opening.list_openings())
    assert opened.opened_models() == []
    hub.paused.clear()
    for i in range(opening.MOST_WAITING):
        opening.start_opening(NAME, f"n{i}")
    with pytest.raises(InvalidSetting, match="Dismiss some of them first"):
        opening.start_opening(NAME)
    opening.reset()
    hub.paused.set()
