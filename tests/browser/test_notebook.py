"""The components in a notebook: in JupyterLab with and without a kernel, and as pages without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import explorer
from tests.browser.steps import wait_until
from tests.serving import ROOT, free_port, is_healthy

SENTENCE = "human not preserve nature"
CELLS = (
    'import explorer\nrun = explorer.load("negation-single-transformer")',
    f'run.attention("{SENTENCE}").show()',
    f'run.attention("{SENTENCE}").show(live=True)',
    'explorer.load("text-toy-rnn").temperature("abca", tokens=30)',
    'explorer.load("text-toy-rnn").temperature("abca", tokens=30, live=True)',
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab of its own, in whose folder is the notebook `n.ipynb`."""
    import nbformat  # builds a grammar for seconds, so only these tests wait for it

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "n.ipynb")
    port = free_port()
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = os.environ | {name: str(tmp_path / name.lower()) for name in folders} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True", "--LabApp.news_url=None"]
    command += [f"--ServerApp.root_dir={tmp_path}", "--ServerApp.port_retries=0"]
    with (tmp_path / "lab.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: process.poll() is not None or is_healthy(f"http://127.0.0.1:{port}", "api"))
        assert process.poll() is None, (tmp_path / "lab.log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def move_slider_to_start(place: Any) -> None:
    """Move the slider over the training to the initialization, and expect the weights of that step."""
    slider = place.locator(".training input[type=range], .training [role=slider]").first
    slider.focus()
    slider.press("Home")
    expect(place.locator(".training")).to_contain_text("step 0 of 390")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page_works_without_a_network(offline: Any, tmp_path: Path, scheme: str) -> None:
    offline.emulate_media(color_scheme=scheme)
    explorer.load("negation-single-transformer").attention(SENTENCE).show().save(tmp_path / "attention.html")
    offline.goto(f"file://{tmp_path}/attention.html")
    expect(offline.locator(".answer-row")).to_have_count(2)
    expect(offline.get_by_text("Switch head off")).to_be_hidden()
    ink = offline.evaluate("getComputedStyle(document.querySelector('.lineage')).color")
    assert ink == ("rgb(29, 35, 39)" if scheme == "light" else "rgb(236, 234, 228)")
    offline.get_by_role("button", name="matrix").click()
    expect(offline.locator(".second .under").first).to_contain_text("rows: query token")
    move_slider_to_start(offline)


def test_a_notebook_shows_the_components_with_and_without_a_kernel(
    browser: Any, offline: Any, lab: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page, requests = context.new_page(), set()
    page.on("request", lambda request: requests.add(request.url))
    page.goto(f"{lab}/lab/tree/n.ipynb?reset")
    expect(page.get_by_text("| Idle")).to_be_visible()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    saved = page.frame_locator("iframe[title^='Attention']")
    expect(saved.locator(".answer-row")).to_have_count(2)
    live = page.locator(".jp-OutputArea .lineage-attention-heads")
    expect(live.locator(".answer-row")).to_have_count(2)

    # The model in the kernel computes the prediction without its only head.
    live.get_by_text("Change the model").click()
    live.get_by_role("button", name="Remove positions").click()
    expect(live.get_by_text("Solid: with the intervention. Pale: unchanged.")).to_be_visible()
    expect(page.frame_locator("iframe[title*='continuing']").locator(".written")).to_contain_text("abca")
    expect(page.locator(".jp-OutputArea .lineage-temperature .written")).to_contain_text("abca")
    assert all(url.startswith((lab, "data:", f"blob:{lab}", "about:")) for url in requests), requests

    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saving completed")).to_be_visible()
    context.close()

    # Without a kernel each output is a page, also those of the widgets.
    cells = json.loads((tmp_path / "n.ipynb").read_text(encoding="utf-8"))["cells"][1:]
    for number, cell in enumerate(cells):
        (output,) = cell["outputs"]
        (tmp_path / f"{number}.html").write_text("".join(output["data"]["text/html"]), encoding="utf-8")
        offline.goto(f"file://{tmp_path}/{number}.html")
        expect(offline.frame_locator("iframe").locator(".lineage :is(.answer-row, .cards)").first).to_be_visible()
