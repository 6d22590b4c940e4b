"""The fields of the data of components, as the typedef NAMEData of each view.js lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from explorer.program_files import PACKAGE, component_folders

TYPEDEF = re.compile(r"@typedef \{object\} \w+Data\n(.*?)(?:\*/|@typedef)", re.DOTALL)
PROPERTY = re.compile(r"@property \{(?:[^{}]|\{[^{}]*\})*\} (\[?)(\w+)")  # a type may contain one level of braces


@cache
def data_fields(component: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the required and the optional fields of a component's data; None if it declares none."""
    typedef = TYPEDEF.search((PACKAGE / component_folders()[component] / "view.js").read_text("utf-8"))
    if not typedef:
        return None
    fields = PROPERTY.findall(typedef[1])
    return frozenset(name for bracket, name in fields if not bracket), frozenset(
        name for bracket, name in fields if bracket
    )


def check_fields(component: str, data: Mapping[str, object]) -> None:
    """Check that data has every required field of its component, and no field that the typedef does not list."""
    if fields := data_fields(component):
        required, optional = fields
        missing, unknown = required - data.keys(), data.keys() - required - optional
        assert not missing and not unknown, f"{component}: missing {sorted(missing)}, unknown {sorted(unknown)}"
