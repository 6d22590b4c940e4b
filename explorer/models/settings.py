"""The description of a setting, which forms, tables, the command line and validation read."""

from __future__ import annotations

from dataclasses import Field, field
from typing import Any

_LABELS = {  # of settings that several configurations have
    "width": "Width of the embeddings",
    "hidden": "Hidden units",
    "heads": "Attention heads",
    "window": "Window, in tokens",
    "norm_place": "Norm before or after the sublayer",
    "split_seed": "Seed of the split",
    "data_seed": "Seed of the sentences",
}


def setting(
    default: Any,
    help: str,
    low: int | float | None = None,
    high: int | float | None = None,
    pattern: str | None = None,
    *,
    label: str = "",
) -> Any:
    """Return a dataclass field with a help text, limits (inclusive) and a label in its metadata.

    `pattern` is a regular expression that the whole of a text setting must match. `label` is the short name that forms
    and tables show; without one it is derived from the name of the field (see `field_label`). It may change at any
    time, because nothing is stored under it.

    Never change a released default: the key of a run is a hash of the settings that differ from the defaults.
    """
    metadata = {"help": help, "low": low, "high": high, "pattern": pattern, "label": label}
    return field(default=default, metadata=metadata)


def field_label(declared: Field[Any]) -> str:
    """Return the label of a setting: its own, or the usual one of its name, or one derived: `p_not` gives “P not”."""
    label: str = declared.metadata.get("label") or _LABELS.get(declared.name) or declared.name.replace("_", " ")
    return label[:1].upper() + label[1:]
