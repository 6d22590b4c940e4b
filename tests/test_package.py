"""`pip install .` in a fresh environment: the command, the app with its settings, pages, lessons and included runs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

import explorer
from explorer.experiments.pretraining import shipped_configs
from explorer.lessons.parse import read_lessons
from tests.serving import ROOT, Server, visit_page

BESIDE_THE_PACKAGE = (".streamlit/config.toml", "app.py", "lessons", "pages", "pretrained")


class Installed(NamedTuple):
    """The program in an environment of its own, and an empty folder to start it from."""

    wheel: Path
    python: Path
    command: Path
    folder: Path

    def run(self, *arguments: str) -> str:
        """Return the output of the command `lineage`."""
        return run(str(self.command), *arguments, folder=self.folder)


def run(*command: str, folder: Path = ROOT) -> str:
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    work = tmp_path_factory.mktemp("package")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", ".", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(work))
    (wheel,) = work.glob("*.whl")

    environment, elsewhere = work / "environment", work / "elsewhere"
    venv.create(environment, symlinks=os.name != "nt")
    elsewhere.mkdir()
    folder = {
        name: Path(sysconfig.get_path(name, "venv", {"base": str(environment)})) for name in ("scripts", "purelib")
    }
    # The requirements are those of this environment: installing them again would take minutes.
    (folder["purelib"] / "requirements.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = folder["scripts"] / Path(sys.executable).name
    run(*pip, "--python", str(python), "install", "--quiet", "--no-deps", "--no-compile", str(wheel))
    return Installed(wheel, python, folder["scripts"] / "lineage", elsewhere)


@pytest.fixture(scope="module")
def server(installation: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("home"))
    server.folder = installation.folder
    server.command = [
        str(installation.command),
        "app",
        "--port",
        str(server.port),
        "--host",
        "127.0.0.1",
        "--no-browser",
    ]
    try:
        server.start()
        yield server
    finally:
        server.stop()


pytestmark = pytest.mark.slow


def test_the_wheel_holds_the_files_of_the_program_in_one_package(installation: Installed) -> None:
    with zipfile.ZipFile(installation.wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    sources = {f"explorer/_app/{name}": ROOT / name for name in BESIDE_THE_PACKAGE} | {"explorer": ROOT / "explorer"}
    assert packed == {
        f"{place}/{file.relative_to(source).as_posix()}" if source.is_dir() else place
        for place, source in sources.items()
        for file in (source.rglob("*") if source.is_dir() else [source])
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_is_small(installation: Installed) -> None:
    assert installation.wheel.stat().st_size < 80_000_000  # mostly the included runs


def test_the_command_knows_the_version_lessons_and_included_runs(installation: Installed) -> None:
    assert installation.run("--version") == f"lineage {explorer.__version__}\n"
    where = run(str(installation.python), "-c", "import explorer; print(explorer.__file__)", folder=installation.folder)
    assert not Path(where.strip()).is_relative_to(ROOT)
    listed = installation.run("list")
    assert [name for name in shipped_configs() if name not in listed] == []
    lessons = installation.run("lessons")
    assert [lesson.title for lesson in read_lessons() if lesson.title not in lessons] == []


def test_the_app_has_its_settings_from_every_folder(server: Server) -> None:
    received = asyncio.run(visit_page(server.url, "negation"))
    assert "#2F4550" in received and "#B9CBD5" in received  # the colours of .streamlit/config.toml
    assert "Transformer" in received
    assert "Lineage is open at http://127.0.0.1" in (log := (server.home / "server.log").read_text("utf-8"))
    assert "Traceback" not in log and "Streamlit" not in log  # neither its welcome nor its question for an address


@pytest.mark.parametrize("page", ["", "lessons", "runs"])
def test_the_app_has_its_pages(page: str, server: Server) -> None:
    received = asyncio.run(visit_page(server.url, page))
    assert {"": "Lineage", "lessons": read_lessons()[0].title, "runs": "Which runs are stored here"}[page] in received


def test_the_app_has_its_static_files(server: Server) -> None:
    for path in ("lineage/shared/base.css", "vendor/plotly-cartesian.min.js.gz"):
        assert httpx.get(f"{server.url}/assets/{path}", trust_env=False).status_code == 200


def test_a_port_in_use_is_one_sentence(server: Server, installation: Installed) -> None:
    command = [str(installation.command), "app", "--port", str(server.port), "--host", "127.0.0.1"]
    process = subprocess.run(command, cwd=installation.folder, capture_output=True, text=True, encoding="utf-8")
    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (2, "", 1)
    assert f"Port {server.port} is in use" in process.stderr and "--port" in process.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl+C to a whole console only.")
def test_the_browser_opens_and_ctrl_c_ends_the_app_without_a_word(installation: Installed, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    server = Server(tmp_path / "home", DISPLAY=":9", BROWSER=f"{sys.executable} {write_browser(tmp_path, opened)} %s")
    server.folder = installation.folder
    server.command = [str(installation.command), "app", "--port", str(server.port), "--host", "127.0.0.1"]
    server.start()
    try:
        deadline = time.monotonic() + 30
        while not opened.is_file() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert opened.read_text("utf-8") == server.url
        assert server.process
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0
        assert (server.home / "server.log").read_text("utf-8").strip().endswith("press Ctrl+C here.")
    finally:
        server.stop()


def write_browser(folder: Path, opened: Path) -> Path:
    """Write a program that notes which URL it is to open."""
    program = folder / "browser.py"
    program.write_text(
        f"import pathlib, sys\nnew = pathlib.Path({str(opened)!r} + '.new')\n"
        f"new.write_text(sys.argv[1])\nnew.replace({str(opened)!r})\n",
        "utf-8",
    )
    return program
