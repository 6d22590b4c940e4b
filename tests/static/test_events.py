"""Every event that a component's view.js declares is received by a Python module that registers the component."""

from __future__ import annotations

import re
from pathlib import Path

from explorer.program_files import PACKAGE, component_folders

SOURCES = {file: file.read_text("utf-8") for file in PACKAGE.rglob("*.py")}
UNCHECKED = {"address", "section"}  # whose modules receive the events in another way


def declared_events(view: Path) -> set[str]:
    """Return the names of the properties of the typedef NAMEEvents."""
    typedef = re.search(r"@typedef \{object\} \w+Events\n(.*?)(?:\*/|@typedef)", view.read_text("utf-8"), re.DOTALL)
    return set(re.findall(r"@property \{.*\} (\w+)", typedef[1])) if typedef else set()


def test_a_page_receives_the_events_that_its_component_declares() -> None:
    declared = {name: declared_events(PACKAGE / folder / "view.js") for name, folder in component_folders().items()}
    checked = {name: events for name, events in declared.items() if events and name not in UNCHECKED}
    assert len(checked) > 15
    for name, events in checked.items():
        naming = [
            file.parent for file, text in SOURCES.items() if re.search(rf'(register|component)\(\s*"{name}"', text)
        ]
        nearby = "".join(text for file, text in SOURCES.items() if file.parent in naming)
        assert events <= set(re.findall(r'"(\w+)"', nearby)), name
