"""A server below a path: its log has nothing that was typed anywhere, also where the program fails with it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator

import httpx
import pytest

from benchmarks.load.load_generator import Visitor, open_page, read_class_code
from tests.serving import ROOT, Server

PAGE = {"Accept": "text/html"}
TYPED = "qzxtyped"  # makes the program fail in some of the places where it is typed; no traceback shows it
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
        if "qzx" + "typed" in str(text):
            raise KeyError(text)
        return original(*args, **kwargs)
    setattr(module, name, wrapper)

fail_with(sentence_input, "sentence_row", lambda session: session.experiment)
fail_with(actions, "record_answer", lambda code, visitor, number, answer, vote=1: answer)
make_order = job.Job._make_order
def fail_with_own_text(self):
    order = make_order(self)
    if "qzx" + "typed" in order.text:
        raise RuntimeError(order.text)
    return order
job.Job._make_order = fail_with_own_text
"""


async def type_everywhere(url: str) -> None:
    """Type the text into every kind of field that visitors have."""
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as browser:
        for path in ("run", TYPED, f"results/{TYPED}", f"class/{TYPED}", f"lesson-sheet/{TYPED}", f"a/{TYPED}"):
            await browser.get(f"/{path}?sentence={TYPED}&{TYPED}={TYPED}", headers=PAGE | {"X": TYPED})
        await browser.post(f"/jobs/{TYPED}/stop", headers={"X-Lineage": "1"})
        await browser.post("/operator", data={"password": TYPED})
        for page, query, act in (
            ("generation", f"prompt={TYPED}&models={TYPED}", None),
            ("negation", f"models={TYPED}&{TYPED}=1", type_sentence),
            ("runs", f"run={TYPED}&search={TYPED}", import_file),
            ("tokens", "corpus=own", train_own_text),
            ("negation", "lesson=counting&part=1", answer),
        ):
            async with open_page(browser, url, page, query, is_new=False) as visitor:
                await visitor.fetch_sections(20)
                if act:
                    await act(visitor)


async def type_sentence(visitor: Visitor) -> None:
    await asyncio.wait_for(visitor.type(f"people {TYPED} nature"), 30)


async def import_file(visitor: Visitor) -> None:
    """Import an archive whose files contain the text and are no valid run."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name in ("config.json", "card.json", f"{TYPED}.json"):
            packed.writestr(f"{TYPED}/{name}", json.dumps({"name": TYPED, TYPED: TYPED}))
    assert await visitor.upload("None", content.getvalue()) == 204
    await visitor.press("FormSubmitter:import-Import it")


async def train_own_text(visitor: Visitor) -> None:
    await visitor.set_text("tokens.pasted", f"{TYPED} is a word that nobody else may read. " * 100)
    await visitor.press("FormSubmitter:tokens.paste-Use this text")
    while not (address := re.search("text=([0-9a-f]+)", visitor.query)):
        await asyncio.sleep(0.05)
    query = f"corpus=own&text={address[1]}&models=rnn&steps=20"
    async with open_page(visitor.browser, visitor.address, "text", query, is_new=False) as page:
        await page.press("train-missing")
    while not (jobs := await visitor.jobs()) or jobs[0]["state"] in ("waiting", "running"):
        await asyncio.sleep(0.05)
    assert [job["state"] for job in jobs] == ["failed"]


async def answer(visitor: Visitor) -> None:
    await visitor.press("lesson.class")
    code = await read_class_code(visitor)
    headers = {"X-Lineage": "1", "Connection": "close"}  # the server closes the connection after an error
    for command, body in {
        "answer": {"number": 1, "given": TYPED},
        TYPED: {"number": 1},
        "remove": {TYPED: TYPED},
    }.items():
        await visitor.browser.post(f"/class/{code}/{command}", json=body, headers=headers)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server below a path, which fails where TYPED is typed."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "sitecustomize.py").write_text(FAILURES.replace("ROOT", repr(str(ROOT)), 1), "utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    settings = {"LINEAGE_LOG": "json", "LINEAGE_OPERATOR_PASSWORD": "a long password", "PYTHONPATH": path}
    server = Server(folder, STREAMLIT_SERVER_BASE_URL_PATH="/a/b/", **settings)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def test_below_a_path_everything_is_there_and_nothing_elsewhere(server: Server) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers=PAGE, trust_env=False) as browser:
        for path in ("/", "/negation", "/operator", "/jobs", "/lesson-sheet/pieces", "/_stcore/health"):
            assert browser.get(f"/a/b{path}").status_code == 200
        style = browser.get("/a/b/assets/static/shared/base.css").content
        assert style == (ROOT / "explorer/static/shared/base.css").read_bytes()
        assert "no class" in browser.get("/a/b/class/AAAA").json()["problem"]
        assert browser.get("/a/b/results/aaaa").status_code == 410
        for path in ("/jobs", "/operator", "/assets/static/shared/base.css", "/_stcore/health", "/a/jobs"):
            assert browser.get(path).status_code == 404
        browser.cookies.clear()
        assert "Path=/a/b" in browser.get("/a/b/").headers["Set-Cookie"].split("; ")


def test_nothing_that_a_visitor_types_is_in_the_log(server: Server) -> None:
    asyncio.run(asyncio.wait_for(type_everywhere(server.url), 300))
    metrics = httpx.get(f"{server.url}/metrics", trust_env=False).text
    written = (server.home / "server.log").read_text("utf-8")
    assert [line for line in (written + metrics).splitlines() if TYPED in line] == []
    for source, exception in {"page": "KeyError", "training": "RuntimeError", "request": "KeyError"}.items():
        assert f'lineage_errors_total{{exception="{exception}",source="{source}"}}' in metrics, written
    assert written.count("KeyError") >= 2 and "in fail_with_own_text" in written
    entries = [json.loads(line) for line in written.splitlines()]
    assert {"uvicorn.error", "streamlit.error_util", "explorer.jobs.job"} <= {each["logger"] for each in entries}
