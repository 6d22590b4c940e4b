"""A component that a single page uses is in the folder of its lab."""

from __future__ import annotations

import re

from explorer.program_files import LAB_FILES, PACKAGE, component_folders


def test_the_components_of_a_page_are_in_its_lab() -> None:
    users: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts
        for name in re.findall(r'\b(?:register|component)\(\s*"(\w+)"', file.read_text("utf-8")):
            users.setdefault(name, set()).add(f"labs/{parts[1]}" if parts[0] == "labs" else parts[0])
    assert set(component_folders()) == set(users), "each is used, and has a view.js"
    for name, folder in component_folders().items():
        (*one, rest) = sorted(users[name])
        lab = rest if not one and rest.startswith("labs/") else "static"
        assert folder == f"{lab}/components/{name}"


def test_names_and_files_of_components() -> None:
    folders = [view.parent for view in (*PACKAGE.glob("static/components/*/view.js"), *LAB_FILES.rglob("view.js"))]
    assert len({folder.name for folder in folders}) == len(folders) == len(component_folders())
    for folder in folders:
        assert (folder / "style.css").is_file()
        assert {file.suffix for file in folder.iterdir()} == {".js", ".css"}, folder
