"""The glossary: technical terms in the texts of the app link to their definitions.

The terms are in `static/shared/glossary.json`: their definitions, and the other forms in which they are written. The
browser shows a definition beside its link and marks the texts of components (`static/shared/runtime/glossary.js`).
"""

from __future__ import annotations

import json
import re
from typing import Any

from explorer.program_files import STATIC_FILES

TERMS: dict[str, dict[str, Any]] = json.loads((STATIC_FILES / "shared/glossary.json").read_text(encoding="utf-8"))
_NAMES = {form.lower(): term.replace(" ", "-") for term in TERMS for form in (term, *TERMS[term]["forms"])}


def _form_pattern(form: str) -> str:
    """Return the pattern of a form in Markdown, where a backslash may escape what is no letter."""
    return "".join(r"\s+" if char == " " else char if char.isalnum() else rf"\\?{re.escape(char)}" for char in form)


# Links, code, formulas, icons, headings and quotations stay as they are: a quotation may be the visitor's own text.
_NOT_MARKED = r"\[[^\]]*\]\([^)]*\)|(?<!\\)`[^`]*`|(?<!\\)\$[^$]*\$|:material/\w+:|^#.*$|“[^”]*”"
_FORMS = "|".join(map(_form_pattern, sorted(_NAMES, key=len, reverse=True)))
_MARKED = re.compile(rf"{_NOT_MARKED}|(?<![\w-])(?P<form>{_FORMS})(?!\\?-|\w)", re.IGNORECASE | re.MULTILINE)


def mark_terms(text: str) -> str:
    """Return a Markdown text in which the first use of each term is a link, such as `[nats](#glossary-nat)`."""
    marked = set[str]()

    def link(match: re.Match[str]) -> str:
        form = match["form"]
        name = _NAMES[" ".join(form.replace("\\", "").lower().split())] if form else ""
        if not name or name in marked:
            return match[0]
        marked.add(name)
        return f"[{form}](#glossary-{name})"

    return _MARKED.sub(link, text)
