"""A folder with a pretrained model: which files are read, and what they say before any weight is loaded.

Nothing in the folder is executed or unpickled: weights are safetensors, everything else is JSON or text.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from safetensors import SafetensorError, safe_open

from explorer.environment import environment
from explorer.errors import InvalidSetting, shorten
from explorer.hub.architectures import Kind, check
from explorer.number_format import format_bytes

CONFIG, TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
README = "README.md"
TEXT_FILES = (  # all that is read besides the weights; never Python, pickles or templates
    CONFIG,
    "generation_config.json",
    "tokenizer.json",
    TOKENIZER_CONFIG,
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "tokenizer.model",
    "source.spm",
    "target.spm",
)
MOST_TEXT_BYTES = 50_000_000  # of one of these files
_SHARD = re.compile(r"[A-Za-z0-9][\w.-]{0,100}\.safetensors", re.ASCII)
_FLOATS = {"F64": "64-bit", "F32": "32-bit", "F16": "16-bit (float16)", "BF16": "16-bit (bfloat16)"}
_PRECISION = "precision"  # entry of the metadata of a converted file


@dataclass(frozen=True)
class FolderFacts:
    """What the files of a folder say."""

    config: dict[str, Any]
    kind: Kind
    weights: tuple[str, ...]  # names of the safetensors files
    numbers: int  # in all tensors of the files
    precision: str
    bytes: int  # of the weights
    licence: str
    fingerprint: str


@dataclass(frozen=True)
class Tensors:
    """How many numbers of each type one or more safetensors files have, and the precision that they name."""

    numbers: Counter[str]  # by type: "F32"
    named_precision: str = ""

    def check(self) -> None:
        """Raise InvalidSetting unless most numbers are floating-point ones."""
        floats = sum(self.numbers[dtype] for dtype in _FLOATS)
        if 2 * floats <= self.numbers.total():
            most = self.numbers.most_common(1)
            raise InvalidSetting(
                f"The weights are stored as {most[0][0] if most else 'nothing'}, which Lineage does not read. Open a "
                "model with safetensors of 16 or 32 bits."
            )

    @property
    def precision(self) -> str:
        """The precision of the stored weights, in words."""
        if self.named_precision:
            return self.named_precision
        stored = max(_FLOATS, key=lambda dtype: self.numbers[dtype])
        return "32-bit weights" if stored == "F32" else f"{_FLOATS[stored]} weights made float32"


def inspect_folder(folder: Path) -> FolderFacts:
    """Return what the files of a folder say. Raises InvalidSetting if its model cannot be opened."""
    check_folder(folder)
    config = read_json(folder / CONFIG)
    check_tokenizer_config(read_json(folder / TOKENIZER_CONFIG) if (folder / TOKENIZER_CONFIG).exists() else {})
    kind = check(config)
    weights = weight_files(folder)
    tensors = _read_tensors(folder / name for name in weights)
    tensors.check()
    check_memory(tensors.numbers.total())
    return FolderFacts(
        config,
        kind,
        weights,
        tensors.numbers.total(),
        tensors.precision,
        sum((folder / name).stat().st_size for name in weights),
        read_licence(folder / README),
        fingerprint(folder, weights),
    )


def check_folder(folder: Path) -> None:
    """Raise InvalidSetting unless this is a folder whose files are inside it.

    Links into `blobs` are allowed, because the cache of huggingface_hub consists of them.
    """
    try:
        if not folder.is_dir():
            raise InvalidSetting(f"There is no folder “{shorten(folder, 120)}”.")
        inside = [folder.resolve()]
        if folder.parent.name == "snapshots":
            inside.append((folder.parents[1] / "blobs").resolve())
        for file in folder.iterdir():
            if file.name in TEXT_FILES or file.suffix == ".safetensors" or file.name in (INDEX, README):
                target = file.resolve(strict=True)
                if not any(target.is_relative_to(place) for place in inside) or not target.is_file():
                    raise InvalidSetting(
                        f"“{shorten(file.name)}” in this folder leads to {shorten(target, 120)}, outside of it. "
                        "Copy the file into the folder."
                    )
    except (OSError, ValueError, RuntimeError) as error:  # a name that no system call accepts, a loop of links
        raise InvalidSetting(f"The folder “{shorten(folder, 120)}” cannot be read: {_reason(error)}.") from error


def weight_files(folder: Path) -> tuple[str, ...]:
    """Return the names of the files with the weights. Raises InvalidSetting if there are none."""
    if (folder / WEIGHTS).is_file():
        return (WEIGHTS,)
    if (folder / INDEX).is_file():
        names = shards(read_json(folder / INDEX))
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise InvalidSetting(
                f"{len(missing)} of {len(names)} files with weights are missing, for example {missing[0]}."
            )
        return names
    raise InvalidSetting(no_safetensors(file.name for file in folder.iterdir()))


def shards(index: dict[str, Any]) -> tuple[str, ...]:
    """Return the files that model.safetensors.index.json names. Raises InvalidSetting for a name with a folder."""
    mapping = index.get("weight_map")
    names = sorted(set(mapping.values())) if isinstance(mapping, dict) and mapping else []
    if not names or not all(isinstance(name, str) and _SHARD.fullmatch(name) for name in names):
        raise InvalidSetting(f"{INDEX} names no files with weights, or files that are not in the same folder.")
    return tuple(names)


def no_safetensors(names: Iterable[str]) -> str:
    """Return the sentence for a model without safetensors; `names` are the files that it has."""
    others = sorted(
        name for name in names if name.endswith((".bin", ".pt", ".pth", ".ckpt", ".h5", ".gguf", ".msgpack"))
    )
    has = f"It has {shorten(', '.join(others), 100)}, which Lineage does not read." if others else "It has no weights."
    return (
        f"This model has no {WEIGHTS}. {has} Open another revision or model with safetensors: pickled weights can run "
        "code when they are loaded."
    )


def check_tokenizer_config(config: dict[str, Any]) -> None:
    """Raise InvalidSetting if the tokenizer is Python code."""
    if config.get("auto_map"):
        raise InvalidSetting(
            "The tokenizer of this model is Python code of its own (auto_map), which Lineage never runs. Open another "
            "model."
        )


def check_memory(numbers: int) -> None:
    """Raise InvalidSetting if a model with this many numbers needs more memory than all models may have."""
    most = environment().models_memory
    if 4 * numbers > most:
        raise InvalidSetting(
            f"This model needs {format_bytes(4 * numbers)} in 32 bits; all loaded models together may have "
            f"{format_bytes(most)}. Open a smaller model."
        ).for_operator("The limit is LINEAGE_MODELS_MEMORY (bytes).")


def read_json(file: Path) -> dict[str, Any]:
    """Return a JSON object. Raises InvalidSetting."""
    try:
        if file.stat().st_size > MOST_TEXT_BYTES:
            raise ValueError("it is too large")
        return parse_json(file.read_bytes())
    except FileNotFoundError:
        raise InvalidSetting(
            f"The folder “{shorten(file.parent.name)}” has no {file.name}, so it holds no model of the transformers "
            "library."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSetting(f"{file.name} cannot be read: {_reason(error)}.") from error


def parse_json(content: bytes) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError."""
    if content.startswith(codecs.BOM_UTF8):
        raise ValueError("it begins with a byte order mark (BOM). Save it as UTF-8 without one")
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    return found


def read_licence(readme: Path) -> str:
    """Return the licence that a model card names in the YAML at its beginning; empty if there is none."""
    try:
        text = readme.read_text("utf-8")[:100_000] if readme.is_file() else ""
        if not text.startswith("---"):
            return ""
        found = yaml.safe_load(text.split("\n---", 1)[0].removeprefix("---"))
        return shorten(found.get("license") or "") if isinstance(found, dict) else ""
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return ""


def fingerprint(folder: Path, weights: Iterable[str]) -> str:
    """Return a text that changes when config.json, or the size or the time of a file with weights changes."""
    digest = hashlib.sha256((folder / CONFIG).read_bytes())
    for name in weights:
        about = (folder / name).stat()
        digest.update(f"{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:20]


def count_tensors(tensors: Iterable[tuple[str, Iterable[int]]], precision: object = "") -> Tensors:
    """Return how many numbers of each type there are; `tensors` are types and shapes."""
    numbers: Counter[str] = Counter()
    for dtype, shape in tensors:
        numbers[str(dtype)] += math.prod(shape)
    return Tensors(numbers, shorten(precision, 60) if isinstance(precision, str) else "")


def _read_tensors(files: Iterable[Path]) -> Tensors:
    numbers: Counter[str] = Counter()
    precision = ""
    for file in files:
        try:
            with safe_open(file, "numpy") as weights:
                slices = [weights.get_slice(name) for name in weights.keys()]  # noqa: SIM118
                found = count_tensors(
                    ((each.get_dtype(), each.get_shape()) for each in slices),
                    (weights.metadata() or {}).get(_PRECISION, ""),
                )
        except (OSError, SafetensorError) as error:
            raise InvalidSetting(f"{file.name} cannot be read: {_reason(error)}.") from error
        numbers += found.numbers
        precision = precision or found.named_precision
    return Tensors(numbers, precision)


def _reason(error: BaseException) -> str:
    return shorten(getattr(error, "strerror", None) or str(error) or type(error).__name__, 100).rstrip(".")
