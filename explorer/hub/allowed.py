"""Which real models may be downloaded: the list of the operator (`LINEAGE_MODELS`).

A model has a short name or the id of its repository, and perhaps a revision. Short names and the revisions below are
those of the Hugging Face hub; a revision is a commit, so the same name is always the same weights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from explorer.environment import environment, split_list
from explorer.errors import InvalidSetting, shorten

PREFIX = "hub:"  # of the name of an opened model in a URL
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")  # of an opened model, in URLs and as the name of a folder
_REVISION = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")
_KNOWN = {  # each commit is one that public code pins; without one, the hub names it when the model is opened
    "all-minilm-l6-v2": "sentence-transformers/all-MiniLM-L6-v2@c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    "bert-base-uncased": "google-bert/bert-base-uncased@86b5e0934494bd15c9632b12f734a8a67f723594",
    "distilbert-base-uncased": "distilbert/distilbert-base-uncased@12040accade4e8a0f71eabdb258fecc2e7e948be",
    "distilgpt2": "distilbert/distilgpt2@2290a62682d06624634c1f46a6ad5be0f47f38aa",
    "gpt2": "openai-community/gpt2@607a30d783dfa663caf39e06633721c8d4cfcd7e",
    "opus-mt-en-de": "Helsinki-NLP/opus-mt-en-de",
    "pythia-14m": "EleutherAI/pythia-14m@cf967c0a9a04383db6f7b1108d86b2962634b4ac",
    "pythia-70m": "EleutherAI/pythia-70m@a39f36b100fe8a5377810d56c3f4789b9c53ac42",
    "pythia-160m": "EleutherAI/pythia-160m@50f5173d932e8e61f858120bcb800b97af589f46",
    "smollm2-135m": "HuggingFaceTB/SmolLM2-135M@93efa2f097d58c2a74874c7e644dbc9b0cee75a2",
    "smollm2-135m-instruct": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "t5-small": "google-t5/t5-small@df1b051c49625cf57a3d0d8d3863ed4d13564fe4",
}


@dataclass(frozen=True)
class Repository:
    """A model on the hub."""

    name: str  # short, in lower case
    id: str  # OWNER/NAME
    revision: str  # a commit, a branch or a tag; empty: the main branch when the model is opened

    def at_revision(self, revision: str) -> Repository:
        """Return the repository at another revision. Raises InvalidSetting for an impossible one."""
        if not _REVISION.fullmatch(revision):
            raise InvalidSetting(f"“{shorten(revision)}” is no revision: give a commit, a tag or a branch.")
        return Repository(self.name, self.id, revision)


def allowed_models() -> dict[str, Repository]:
    """Return the models that may be downloaded, by name. Raises InvalidSetting for an unknown short name."""
    return {found.name: found for found in map(_parse, split_list(environment().models))}


def find_allowed(given: str) -> Repository | None:
    """Return the allowed model with this short name or repository id, in any case; None if there is none."""
    given = given.strip().casefold()
    return next((found for found in allowed_models().values() if given in (found.name, found.id.casefold())), None)


def pinned_revision(id_: str) -> str:
    """Return the commit of a repository that Lineage names as its main version; empty if it names none."""
    return _known_repository(id_).partition("@")[2]


def _known_repository(id_: str) -> str:
    """Return a known repository with its revision, by its id in any case; the given id if it is not known."""
    return next((each for each in _KNOWN.values() if each.partition("@")[0].casefold() == id_.casefold()), id_)


def check_name(name: str) -> str:
    """Return the name of an opened model. Raises InvalidSetting if it is not possible."""
    if not NAME.fullmatch(name):
        raise InvalidSetting(
            f"“{shorten(name)}” is no name of a model: it has 1 to 64 small letters, digits, dots, hyphens and "
            "underscores, and begins with a letter or a digit."
        )
    return name


def suggest_name(title: str) -> str:
    """Return a possible name for an opened model, from the title of its repository or folder."""
    return re.sub(r"[^a-z0-9._-]+", "-", title.casefold()).lstrip("._-")[:64] or "model"


def _parse(entry: str) -> Repository:
    """Return the repository of one entry of LINEAGE_MODELS, which the environment has checked."""
    given, _, revision = entry.partition("@")
    known = _KNOWN.get(given.casefold(), "")
    if not known and "/" not in given:
        raise InvalidSetting(
            f"The list of allowed models names “{shorten(given)}”, which is no short name that Lineage knows. Give the "
            f"id of the repository, OWNER/NAME, or one of {', '.join(_KNOWN)}."
        ).for_operator("The list is LINEAGE_MODELS.")
    id_, _, pinned = (known or _known_repository(given)).partition("@")
    return Repository(suggest_name(id_.rpartition("/")[2]), id_, revision or pinned)
