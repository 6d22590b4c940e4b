"""The documents of the repository: every link leads somewhere, and the README stays short."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from typer.main import get_command

from explorer.__main__ import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    file
    for file in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*.ipynb"), *ROOT.glob("deploy/*.md"))
    if file.name != "MODEL_CARD.md"
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(file: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", file.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links_in(document: Path) -> list[str]:
    """Return the links of a document that lead to files of the repository."""
    links = LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8")))
    return [link for link in links if not re.match(r"[a-z]+:", link)]


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    for document in DOCUMENTS:
        for link in links_in(document):
            path, _, anchor = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            assert target.exists() and (not anchor or anchor in anchors(target)), f"{document}: {link}"


def test_every_document_is_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        document = todo.pop()
        if document in reached:
            continue
        reached.add(document)
        targets = [(document.parent / link.partition("#")[0]).resolve() for link in links_in(document)]
        files = [each / "README.md" if each.is_dir() else each for each in targets]
        todo += [each for each in files if each.suffix in (".md", ".ipynb") and each.is_file()]
    assert not set(DOCUMENTS) - reached


def test_the_readme_is_short_and_has_both_commands_and_every_picture() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert [each.name for each in (ROOT / "docs/pictures").iterdir() if f"docs/pictures/{each.name}" not in text] == []
    assert "\npip install -r requirements.txt && streamlit run app.py\n" in text
    assert "\npip install -r requirements-dev.txt && pytest\n" in text


def test_every_command_in_fences_or_backticks_is_one_of_the_program() -> None:
    group: Any = get_command(app)
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    commands = re.findall(r"^lineage(?: [^#\n]+)?", text, re.MULTILINE) + re.findall(r"`(lineage(?: [^`]+)?)`", text)
    for line in commands:
        _, *words = shlex.split(line)
        if words and words[0].islower() and words[0].isalpha() and not {"…", "-h"} & {*words}:
            name, command, rest = group.resolve_command(group.make_context("lineage", words), words)
            command.make_context(name, rest, resilient_parsing=not rest)
