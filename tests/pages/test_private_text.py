"""What one visitor reads, no other visitor can see: every page is opened with another visitor's fingerprint."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from explorer.catalogue import PAGES
from explorer.errors import NeedsText
from explorer.jobs.service import service
from explorer.tasks.text import corpora, rows
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.web import background, results
from explorer.web.classes import actions, store
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.visitors import Visitor
from tests.pages import screen
from tests.pages.screen import page as open_page
from tests.pages.screen import wait_until_ready

MARKER = "zwölfboxkämpfer"
WITH_TEXTS = ("negation", "tokens", "text", "translation", "context", "perplexity", "word-vectors")
TEXT = f"the {MARKER} hunts eva across the big dyke of sylt, and she laughs about it.\n" * 30


@pytest.fixture
def sha() -> Iterator[str]:
    stored = corpora.store_text(TEXT, "ada")
    yield stored
    corpora.release_text(stored, "ada")
    rows.drop_text_data(stored)
    background.reset()  # what the pages wait for is not computed


def training_on(sha: str) -> RunConfig:
    sizes = {"iterations": 3, "hidden": 8, "width": 8, "context": 8, "batch_size": 4, "sample": 30, "evaluate_every": 1}
    return with_settings(default_config("text", "gru"), {"corpus": "own", "text": sha, **sizes})


def everything_on(at: AppTest) -> str:
    """Return what a page sends to the browser: elements, the data of components, and what its sections show so far."""
    sent = [str(element.proto) for element in at.main if hasattr(element, "proto")]
    for name, data in screen._components(at):
        sent.append(json.dumps(data, ensure_ascii=False))
        section = results.find(data["address"].rpartition("/")[2]) if name == "section" else None
        if isinstance(section, results.Section):
            futures = {each: future for each, future in section.submit().items() if results.is_ready(future)}
            sent.append(json.dumps(section.draw(futures), ensure_ascii=False))
    return "\n".join(sent)


def test_no_page_shows_the_text_of_another_visitor(sha: str) -> None:
    at = wait_until_ready(open_page("tokens.py", {"corpus": "own", "text": sha}, "ada"))
    assert MARKER in everything_on(at), "its owner sees it"
    job = service.submit(training_on(sha), "ada")
    while not job.view().done:
        service.add_watcher(job.key, "ada")
    for row in PAGES:
        address = {"corpus": "own", "text": sha, "runs": job.key}
        for params in (address, {"run": job.key}) if row.address in WITH_TEXTS else (address | {"run": job.key},):
            assert MARKER not in everything_on(open_page(row.file, params, "eve")), (row.file, params)


def test_results_that_were_computed_for_the_owner_are_not_given_to_others(sha: str) -> None:
    config = TextConfig(corpus="own", text=sha)
    corpora.reader.set("ada")
    assert background.submit(("cut", sha), lambda: TEXT).result() == TEXT
    assert background.submit(("cut", config), lambda: corpora.load_text(config)).result() == TEXT
    assert rows.text_data(config).vocabulary > 10
    corpora.reader.set("eve")
    for work in (("cut", sha), ("cut", config), ("cut", training_on(sha)), ("other", sha)):
        with pytest.raises(NeedsText):
            background.submit(work, lambda: TEXT).result()
    for read in (corpora.load_text, rows.text_data):
        with pytest.raises(NeedsText):
            read(config)


def test_a_class_reads_the_text_that_its_teacher_shares_until_it_ends(sha: str) -> None:
    classroom = actions.show_question("ada", ClassroomQuestion("tokens", {}))
    store.record_presence(classroom, "tom")
    assert not corpora.may_read(sha, "tom")
    actions.share_text(classroom.code, Visitor("ada"), sha)
    assert corpora.may_read(sha, "tom") and not corpora.may_read(sha, "eve")
    actions.share_text(classroom.code, Visitor("ada"), "")
    assert not corpora.may_read(sha, "tom")
    actions.share_text(classroom.code, Visitor("ada"), sha)
    actions.end_classroom(classroom.code, Visitor("ada"))
    assert not corpora.may_read(sha, "tom")
