"""Every address that a page uses is relative to the page, so that the site can stand below any path of its host."""

from __future__ import annotations

import re

from tests.serving import ROOT

# A link, request, style sheet, image, import or Markdown link to a path that begins at the root of the host.
ROOTED = re.compile(
    r"""(?:fetch\(|import\(|EventSource\(|URL\(|url\(|href"?\s*[=:,]|src\s*=|\]\()\s*f?["'`]?/(?![/*])"""
)


def test_no_address_begins_at_the_root_of_the_host() -> None:
    for rooted in ("fetch(`/class/${code}`)", '"href": f"/{page}"', "[Sign in](/operator)", 'new URL("/assets/x.js")'):
        assert ROOTED.search(rooted)
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for folder in ("explorer", "pages", "lessons")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in (".py", ".js", ".css", ".html", ".yaml", ".svg") and "vendor" not in file.parts
        for line in file.read_text(encoding="utf-8").splitlines()
        if ROOTED.search(line)
    ]
    assert found == []
