"""The real models that this machine has opened: their cards are in LINEAGE_HOME/models/NAME/card.json.

Opening a model finds its files (a local folder, the cache of huggingface_hub, a download), loads it once as a check,
and writes its card. Its weights stay where they are.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
import shutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from explorer.atomic_files import describe_disk_error, json_bytes, write_file
from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError, shorten
from explorer.hub import download, files, memory, pretrained, tokenizer
from explorer.hub.allowed import COMMIT, NAME, Repository, allowed_models, check_name, find_allowed, suggest_name
from explorer.hub.allowed import PREFIX as PREFIX
from explorer.hub.card import ModelCard
from explorer.hub.checkpoints import training_step
from explorer.hub.download import Progress
from explorer.hub.packages import check_installed

log = logging.getLogger(__name__)
_CARD = "card.json"
_MOST_PATH = 1_000  # characters


class _FoundFiles(NamedTuple):
    folder: Path
    commit: str = ""
    licence: str = ""


def opened_models() -> list[ModelCard]:
    """Return the cards of all opened models, by name. Damaged ones are logged and left out."""
    cards = []
    for file in sorted(environment().opened_models.glob(f"*/{_CARD}")):
        try:
            cards.append(find_card(file.parent.name))
        except InvalidSetting as error:
            log.warning("the card in %s is left out: %s", file.parent, error)
    return cards


def find_card(name: str) -> ModelCard:
    """Return the card of an opened model, with or without the prefix of URLs. Raises InvalidSetting."""
    name = name.removeprefix(PREFIX)
    file = environment().opened_models / name / _CARD
    try:
        if not NAME.fullmatch(name):
            raise FileNotFoundError
        about = file.stat()
        return _read_card(file, (about.st_mtime_ns, about.st_ino))
    except FileNotFoundError:
        raise InvalidSetting(
            f"No real model “{shorten(name)}” is open on this machine. The operator opens one with “lineage open NAME”."
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"The card of the model {name} cannot be read. Open the model again.") from error


@lru_cache(maxsize=256)
def _read_card(file: Path, changed: tuple[int, int]) -> ModelCard:
    card = ModelCard.model_validate_json(file.read_text("utf-8"))
    if card.name != file.parent.name:
        raise ValueError("the card is that of another model")
    return card


def read_card(folder: str) -> ModelCard:
    """Return the card of a model in a folder, which is loaded as a check but not opened for the app.

    Raises InvalidSetting with the reason if it cannot be shown.
    """
    check_installed()
    try:
        place = Path(folder).expanduser().absolute()
    except RuntimeError:  # “~” with the name of somebody unknown
        place = Path(folder)
    facts = files.inspect_folder(place)
    module = memory.load_folder(place, facts.fingerprint, 4 * facts.numbers)
    return _make_card(suggest_name(place.name), str(place), _FoundFiles(place), facts, module)


def load_model(card: ModelCard) -> pretrained.PretrainedModule:
    """Return an opened model, which is shared by all visitors and must not be changed. The first call takes seconds.

    Raises InvalidSetting if its files have changed since it was opened, or if it cannot be loaded.
    """
    folder = Path(card.folder)
    source = "FOLDER" if card.from_folder else card.source  # visitors read the message: no path of the server
    again = f"The operator opens it again with “lineage open {source} --name {card.name}”."
    try:
        if files.fingerprint(folder, files.weight_files(folder)) != card.fingerprint:
            raise InvalidSetting(f"The files of {card.name} have changed since it was opened. {again}")
    except OSError:
        log.warning("the model %s is no longer in %s", card.name, folder)
        raise InvalidSetting(f"The files of {card.name} are no longer where they were. {again}") from None
    return memory.load_folder(folder, card.fingerprint, card.memory)


def close_model(name: str) -> ModelCard:
    """Forget an opened model and return its card; its files stay. Raises InvalidSetting if it is not open."""
    card = find_card(name)
    with contextlib.suppress(FileNotFoundError):  # closed by another process
        shutil.rmtree(environment().opened_models / card.name)
    memory.drop(card.folder)
    return card


def open_model(
    given: str, name: str = "", revision: str = "", offline: bool = False, progress: Progress | None = None
) -> ModelCard:
    """Open a model and return its card. It may download files, and loads the model once as a check.

    given: short name or repository id of an allowed model, or a folder
    name: that of the opened model; by default that of the repository or folder
    revision: commit, tag or branch of a repository; by default the one of the allow list
    offline: never ask the hub
    progress: told what is being done

    If the model is open after a later step of its training (`checkpoints.py`), it stays so, and the earlier step can be
    chosen; then the card of the later step is returned.

    Raises InvalidSetting with the reason if the model cannot be opened, and StoreError if its card cannot be written.
    """
    check_installed()
    progress = progress or Progress()
    progress.begin("checking")
    repository, source = _parse_source(given)
    if repository and revision:
        repository = repository.at_revision(revision)
    elif revision:
        raise InvalidSetting("A folder has no revisions. Leave the revision out.")
    name = check_name(name or (repository.name if repository else suggest_name(Path(source).name)))
    _check_free(name, source)
    with _one_at_a_time(name):
        found = _find_files(repository, offline, progress) if repository else _FoundFiles(Path(source))
        progress.begin("checking files")
        facts = files.inspect_folder(found.folder)
        progress.begin("loading")
        memory.drop(str(found.folder))
        module = memory.load_folder(found.folder, facts.fingerprint, 4 * facts.numbers)
        if (found.folder / "tokenizer.json").is_file():
            try:
                tokenizer.load_tokenizer(found.folder, module.vocabulary)  # refuses one that does not fit
            except InvalidSetting:
                memory.drop(str(found.folder))
                raise
        card = _make_card(name, source, found, facts, module)
        progress.check()
        if later := _later_card(card):
            card = later
        else:
            try:
                write_file(environment().opened_models / name / _CARD, json_bytes(card.model_dump(mode="json")))
            except OSError as error:
                raise StoreError(f"The card of the model could not be written: {describe_disk_error(error)}") from error
    progress.stage = "open"
    return card


def _later_card(card: ModelCard) -> ModelCard | None:
    """Return the card of the same model, open with the same name, if it has the weights of a later training step."""
    other = _find_open(card.name)
    if other is None or other.source != card.source:
        return None
    step, other_step = training_step(card), training_step(other)
    return other if step is not None and other_step is not None and step < other_step else None


def _find_open(name: str) -> ModelCard | None:
    try:
        return find_card(name)
    except InvalidSetting:
        return None


def _parse_source(given: str) -> tuple[Repository | None, str]:
    """Return the allowed repository that is meant, or else None, and the repository id or the folder."""
    if repository := find_allowed(given):
        return repository, repository.id
    names = ", ".join(allowed_models()) or "none"
    problem = InvalidSetting(
        f"“{shorten(given, 80)}” is neither a folder on this machine nor a model of the allow list. Allowed are: "
        f"{names}."
    ).for_operator("The list is LINEAGE_MODELS.")
    try:
        if not given.strip() or len(given) > _MOST_PATH or not (folder := Path(given.strip()).expanduser()).is_dir():
            raise problem
    except (OSError, ValueError, RuntimeError):  # a name that no system call accepts, an unknown home
        raise problem from None
    return None, str(folder.absolute())


def _check_free(name: str, source: str) -> None:
    if (other := _find_open(name)) and other.source != source:
        raise InvalidSetting(
            f"A model from {shorten(other.source, 80)} is open as {name}. Close it (“lineage close {name}”), or give "
            "another name."
        )


@contextlib.contextmanager
def _one_at_a_time(name: str) -> Iterator[None]:
    """Keep other threads and processes from opening a model of the same name."""
    lock = environment().opened_models / f".{name}.lock"
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=0):
            yield
    except Timeout:
        raise InvalidSetting(f"The model {name} is being opened already. Wait until that has ended.") from None


def _find_files(repository: Repository, offline: bool, progress: Progress) -> _FoundFiles:
    commit = _known_commit(repository)
    if commit and (folder := download.find_local(repository, commit)):
        return _found_locally(folder, commit)
    if offline or download.is_offline():
        if folder := download.find_local(repository, repository.revision):
            return _found_locally(folder, folder.name)
        commits = [] if repository.revision else download.downloaded_commits(repository)
        if len(commits) == 1 and (folder := download.find_local(repository, commits[0])):
            return _found_locally(folder, commits[0])
        raise download.offline_error()
    progress.begin("asking the hub")
    remote = download.read_repository(repository)
    if folder := download.find_local(repository, remote.commit):
        return _FoundFiles(folder, remote.commit, remote.licence)
    wanted = download.check_before_download(remote)
    progress.begin(download.DOWNLOADING)
    return _FoundFiles(download.download(remote, wanted, progress), remote.commit, remote.licence)


def _known_commit(repository: Repository) -> str:
    """Return the commit of a repository if it is known without the hub: given, or that of an earlier opening."""
    if repository.revision:
        return repository.revision if COMMIT.fullmatch(repository.revision) else ""
    return next((card.revision for card in opened_models() if card.source == repository.id), "")


def _found_locally(folder: Path, commit: str) -> _FoundFiles:
    return _FoundFiles(folder, commit, download.read_source(folder).get("licence", ""))


def _make_card(
    name: str, source: str, found: _FoundFiles, facts: files.FolderFacts, module: pretrained.PretrainedModule
) -> ModelCard:
    config = module.model.config  # of the transformers library, which has defaults and one name for each size
    return ModelCard(
        name=name,
        source=source,
        from_folder=not found.commit,
        revision=found.commit,
        licence=found.licence or facts.licence,
        kind=facts.kind,
        model_type=str(config.model_type),
        predicts=module.predicts,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        width=config.hidden_size,
        context=module.context,
        vocabulary=module.vocabulary,
        parameters=sum(weight.numel() for weight in module.model.parameters()),
        precision=facts.precision,
        bytes=facts.bytes,
        folder=str(found.folder),
        fingerprint=facts.fingerprint,
        opened=datetime.datetime.now(datetime.UTC),
    )
