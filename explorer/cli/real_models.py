"""The commands `open` and `close`: real pretrained models of the transformers library."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from explorer.cli import completion
from explorer.cli.common import Json, argument, flag, option
from explorer.cli.program import print_json, program_name
from explorer.cli.progress import ProgressLines
from explorer.cli.tables import print_columns, print_wrapped
from explorer.errors import InvalidSetting
from explorer.hub import checkpoints, download, opened
from explorer.hub.allowed import allowed_models
from explorer.hub.card import ModelCard
from explorer.number_format import format_bytes, format_count
from explorer.visible_text import escape_invisible

_SECONDS_OF_A_LINE = 5.0  # between two lines of progress that do not go to a terminal
_SECONDS_OF_A_LOOK = 0.2  # at the progress


def open_model(
    model: Annotated[
        str,
        argument(
            "MODEL",
            "Name of a model of the allow list, or a folder. Without it, the models are listed.",
            completion.allowed_models,
        ),
    ] = "",
    name: Annotated[str, option("NAME", "Name of the opened model, if not that of its source.")] = "",
    revision: Annotated[
        str, option("REVISION", "Commit, tag or branch to download, if not the one of the allow list.")
    ] = "",
    offline: Annotated[bool, flag("--offline", "Use only what is on this machine.")] = False,
    as_json: Json = False,
) -> None:
    """Open a real pretrained model, or list the models that are open.

    A model is a folder on this machine, a model in the cache of huggingface_hub, or a download. It is checked and
    loaded once; then the pages show it. It needs the packages of requirements-models.txt. See docs/real-models.md.
    """
    if not model:
        if name or revision or offline:
            raise InvalidSetting("--name, --revision and --offline belong to a model. Give its name or its folder.")
        _list_models(as_json)
        return
    progress = download.Progress()
    with _print_progress(progress):
        card = opened.open_model(model, name, revision, offline, progress)
    if as_json:
        print_json(_card_fields(card))
        return
    print(f"Open as {opened.PREFIX}{card.name}")
    for label, value in (*card.facts(), ("folder", card.folder)):
        print_wrapped(f"{label}: {escape_invisible(value)}", "  ")
    if steps := checkpoints.checkpoint_steps(card):
        print_wrapped(f"steps of its training that can be shown: {', '.join(map(format_count, steps))}", "  ")
    print_wrapped(
        f"To look at it, open the app and the address attention?model={opened.PREFIX}{card.name}. "
        f"To forget it: {program_name()} close {card.name}."
    )


def close_models(
    names: Annotated[list[str], argument("NAME", "Names of opened models.", completion.opened_models)],
    as_json: Json = False,
) -> None:
    """Close opened real models. Their files stay where they are."""
    for name in dict.fromkeys(names):
        card = opened.close_model(name)
        if as_json:
            print_json({"kind": "closed", "name": card.name, "folder": card.folder})
        else:
            print_wrapped(f"{card.name} is closed. Its files are in {escape_invisible(card.folder)}.")


def _list_models(as_json: bool) -> None:
    cards, allowed = opened.opened_models(), allowed_models()
    if as_json:
        for card in cards:
            print_json(_card_fields(card))
        for model in allowed.values():
            print_json({"kind": "allowed", "name": model.name, "repository": model.id, "revision": model.revision})
        return
    if cards:
        rows = [
            (
                card.name,
                card.kind,
                f"{card.layers} × {card.heads}",
                format_count(card.parameters),
                format_bytes(card.bytes),
                escape_invisible(card.source),
            )
            for card in cards
        ]
        print_columns(("open", "kind", "layers × heads", "parameters", "on disk", "source"), rows)
    else:
        print("No real model is open.")
    print()
    print_wrapped(
        f"Can be downloaded and opened: {', '.join(allowed) or 'none'} (LINEAGE_MODELS). Any folder with a model in "
        f"safetensors can be opened: {program_name()} open FOLDER."
    )


def _card_fields(card: ModelCard) -> dict[str, Any]:
    return {"kind": "opened", **card.model_dump(mode="json", exclude={"kind", "format"}), "architecture": card.kind}


@contextmanager
def _print_progress(progress: download.Progress) -> Iterator[None]:
    """Print on standard error what an opening waits for."""
    lines, ended = ProgressLines(_SECONDS_OF_A_LINE, _SECONDS_OF_A_LINE), threading.Event()

    def report() -> None:
        while not ended.wait(min(_SECONDS_OF_A_LOOK, _SECONDS_OF_A_LINE)):
            lines.show(progress.describe)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        lines.clear()
