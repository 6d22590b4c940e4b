"""Technical terms in the texts of the app link to plain definitions, and to nothing where they stand in a quotation."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from explorer.ui.document import Document
from explorer.ui.glossary import TERMS, mark_terms
from explorer.ui.page_sections import escape_markdown
from tests.pages.screen import without_links

DOCUMENT = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_a_definition_is_one_short_sentence_and_no_form_belongs_to_two_terms() -> None:
    forms = Counter(form.lower() for term, entry in TERMS.items() for form in (term, *entry["forms"]))
    assert [form for form, count in forms.items() if count > 1] == []
    assert [form for form in forms if not re.fullmatch(r"[\w<>, -]+", form)] == [], (
        "both patterns take them as they are"
    )
    for term, entry in TERMS.items():
        assert re.fullmatch(r"[A-Z<][^!?]*[.?]( [A-Z][^.!?]*\.)?", entry["definition"]), term
        assert len(entry["definition"].split()) <= 25, term


def test_the_document_has_every_definition() -> None:
    entries = "".join(f"\n## {term}\n\n{entry['definition']}\n" for term, entry in TERMS.items())
    _, line, written = DOCUMENT.read_text(encoding="utf-8").partition("\n## ")
    assert line + written == entries, "docs/glossary.md differs from explorer/static/shared/glossary.json"


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Loss in nats; a nat is a unit.", "[Loss](#glossary-loss) in [nats](#glossary-nat); a nat is a unit."),
        ("**Top-k** and n-gram", "**[Top-k](#glossary-top-k)** and [n-gram](#glossary-n-gram)"),
        (r"\<BOS\> held\-out", r"[\<BOS\>](#glossary-special-token) [held\-out](#glossary-held-out)"),
        ("the hidden\nstate", "the [hidden\nstate](#glossary-hidden-state)"),
        ("The visitor wrote “seed, loss”.", "The visitor wrote “seed, loss”."),
        ("[a seed](lessons) `loss` $softmax$ :material/token:", "[a seed](lessons) `loss` $softmax$ :material/token:"),
        ("#### The loss\n\nA head.", "#### The loss\n\nA [head](#glossary-head)."),
        ("lossless, attention-only, word_nat, sub-token", "lossless, attention-only, word_nat, sub-token"),
    ],
)
def test_the_first_use_of_a_term_is_a_link_and_nothing_else_changes(text: str, marked: str) -> None:
    assert mark_terms(text) == marked
    assert without_links(marked) == without_links(text)


def test_markup_of_a_visitor_stays_text_beside_a_term() -> None:
    assert mark_terms(escape_markdown("[loss](x) <b>")) == r"\[[loss](#glossary-loss)\]\(x\) \<b\>"
    document = Document()
    document.markdown("<b>loss</b>")
    assert document.blocks[0]["html"] == '<p>&lt;b&gt;<a href="#glossary-loss">loss</a>&lt;/b&gt;</p>\n'
