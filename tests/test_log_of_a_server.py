"""A real server, in whose log a text that was typed everywhere is searched, also where the program fails with it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks.class_link import read_class_code
from benchmarks.load.load_generator import Visitor, open_page
from tests.serving import ROOT, running_server

TYPED, FATAL = "qzxtyped", "qzxfatal"  # FATAL makes the program fail where it is typed; no traceback shows it
FAILURES = """
import sys
sys.path.insert(0, ROOT)
from explorer.jobs import job
from explorer.labs.negation import sentence_input
from explorer.tasks.text import corpora
from explorer.web.classes import actions

def fail_with(module, name, find):
    original = getattr(module, name)
    def wrapper(*args, **kwargs):
        text = find(*args, **kwargs)
        if "qzx" + "fatal" in str(text):
            raise KeyError(text)
        return original(*args, **kwargs)
    setattr(module, name, wrapper)

fail_with(sentence_input, "sentence_row", lambda session: session.experiment)
fail_with(actions, "record_answer", lambda code, visitor, number, answer, vote=1: answer)
make_order = job.Job._make_order
def fail_with_own_text(self):
    order = make_order(self)
    if "qzx" + "fatal" in order.text:
        raise RuntimeError(order.text)
    return order
job.Job._make_order = fail_with_own_text
"""


def archive(text: str) -> bytes:
    """Return an archive of a run whose files contain a text and are no valid run."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name in ("config.json", "card.json", f"{text}.json"):
            packed.writestr(f"{text}/{name}", json.dumps({"name": text, text: text}))
    return content.getvalue()


async def type_everywhere(url: str, text: str) -> None:
    """Type a text into every kind of field that visitors have."""
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as browser:
        for path in ("negation", "run", text, f"results/{text}", f"class/{text}", f"lesson-sheet/{text}", f"a/{text}"):
            await browser.get(f"/{path}?sentence={text}&{text}={text}", headers={"Accept": "text/html", "X": text})
        await browser.post(f"/jobs/{text}/stop", headers={"X-Lineage": "1"})
        await browser.post("/operator", data={"password": text})
        await visit(browser, url, "negation", f"sentence={text}&models={text}&{text}=1")
        await visit(browser, url, "generation", f"prompt={text}&models={text}")
        await visit(browser, url, "runs", f"run={text}&search={text}")
        await visit(browser, url, "negation", "", lambda visitor: type_sentence(visitor, text))
        await visit(browser, url, "runs", "", lambda visitor: import_file(visitor, text))
        await visit(browser, url, "tokens", "corpus=own", lambda visitor: train_own_text(visitor, text))
        await visit(browser, url, "negation", "lesson=counting&part=1", lambda visitor: answer(visitor, text))


async def visit(
    browser: httpx.AsyncClient, url: str, page: str, query: str, act: Callable[[Visitor], object] | None = None
) -> None:
    async with open_page(browser, url, page, query, is_new=False) as visitor:
        await visitor.fetch_sections(20)
        if act:
            await act(visitor)  # type: ignore[misc]


async def type_sentence(visitor: Visitor, text: str) -> None:
    await asyncio.wait_for(visitor.type(f"people {text} nature"), 30)


async def import_file(visitor: Visitor, text: str) -> None:
    assert await visitor.upload("None", archive(text)) == 204
    await visitor.press("FormSubmitter:import-Import it")


async def train_own_text(visitor: Visitor, text: str) -> None:
    await visitor.set_text("tokens.pasted", f"{text} is a word that nobody else may read. " * 100)
    await visitor.press("FormSubmitter:tokens.paste-Use this text")
    for _ in range(100):
        if address := re.search("text=([0-9a-f]+)", visitor.query):
            break
        await asyncio.sleep(0.1)
    assert address
    query = f"corpus=own&text={address[1]}&models=rnn&steps=200"
    await visit(visitor.browser, visitor.address, "text", query, lambda page: page.press("train"))
    for _ in range(600):
        jobs = await visitor.jobs()
        if jobs and jobs[0]["state"] not in ("waiting", "running"):
            break
        if jobs and jobs[0]["state"] == "running":
            await visitor.stop_all()
        await asyncio.sleep(0.1)
    assert [job["state"] == "failed" for job in jobs] == [text == FATAL]


async def answer(visitor: Visitor, text: str) -> None:
    await visitor.press("lesson.class")
    code = await read_class_code(visitor)
    headers = {"X-Lineage": "1", "Connection": "close"}  # the server closes the connection after an error
    for command, body in {"answer": {"number": 1, "given": text}, text: {"number": 1}, "remove": {text: text}}.items():
        await visitor.browser.post(f"/class/{code}/{command}", json=body, headers=headers)


@pytest.fixture
def failures(tmp_path: Path) -> Iterator[str]:
    """Yield a value of PYTHONPATH with which the server fails wherever FATAL is typed."""
    (tmp_path / "sitecustomize.py").write_text(FAILURES.replace("ROOT", repr(str(ROOT)), 1), "utf-8")
    yield os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize("kind", ["json", pytest.param("text", marks=pytest.mark.slow)])
def test_nothing_that_a_visitor_types_is_in_the_log(kind: str, failures: str, tmp_path: Path) -> None:
    home = tmp_path / "served"
    settings = {"LINEAGE_LOG": kind, "LINEAGE_OPERATOR_PASSWORD": "a long password", "PYTHONPATH": failures}
    with running_server(home, **settings) as url:
        for text in (TYPED, FATAL):
            asyncio.run(type_everywhere(url, text))
        metrics = httpx.get(f"{url}/metrics", trust_env=False).text
    written = (home / "server.log").read_text("utf-8")
    for text in (TYPED, FATAL):
        assert [line for line in written.splitlines() if text in line] == []
        assert text not in metrics
    for source, exception in {"page": "KeyError", "training": "RuntimeError", "request": "KeyError"}.items():
        assert f'lineage_errors_total{{exception="{exception}",source="{source}"}}' in metrics, written
    assert written.count("KeyError") >= 2 and "in fail_with_own_text" in written
    if kind == "json":
        entries = [json.loads(line) for line in written.splitlines()]
        assert {"uvicorn.error", "streamlit.error_util", "explorer.jobs.job"} <= {each["logger"] for each in entries}
