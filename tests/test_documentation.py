"""The documents of the repository: every link leads somewhere, and the README stays short."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    dead = []
    for link in LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert not dead, f"these links of {document.name} lead nowhere"


def test_every_document_is_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        document = todo.pop()
        if document in reached:
            continue
        reached.add(document)
        links = LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8")))
        targets = [(document.parent / link.partition("#")[0]).resolve() for link in links if ":" not in link]
        files = [each / "README.md" if each.is_dir() else each for each in targets]
        todo += [each for each in files if each.suffix in (".md", ".ipynb") and each.is_file()]
    assert not set(DOCUMENTS) - reached


def test_the_readme_is_short_and_has_both_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "\npip install -r requirements.txt && streamlit run app.py\n" in text
    assert "\npip install -r requirements-dev.txt && pytest\n" in text


def commands(document: Path) -> list[str]:
    """Return the commands of the program that a document names, in fences or between backticks."""
    text = document.read_text(encoding="utf-8")
    return re.findall(r"^lineage(?: [^#\n]+)?", text, re.MULTILINE) + re.findall(r"`(lineage(?: [^`]+)?)`", text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_command_is_one_of_the_program(document: Path) -> None:
    group = get_command(app)
    for line in commands(document):
        _, *words = shlex.split(line)
        if words and words[0].islower() and words[0].isalpha() and not {"…", "-h"} & {*words}:
            name, command, rest = group.resolve_command(group.make_context("lineage", words), words)  # type: ignore[attr-defined]
            command.make_context(name, rest, resilient_parsing=not rest)


def test_every_picture_is_shown() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert f"docs/pictures/{picture.name}" in text
