"""A wheel is built, unpacked, and its server started: it has all files of the program and answers nothing else."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version

import explorer
from explorer import program_files
from explorer.lessons.parse import read_lessons
from tests import needs
from tests.serving import ROOT, Server, visit_page
from tests.waiting import wait_until

BESIDE_THE_PACKAGE = (".streamlit/config.toml", "app.py", "lessons", "pages", "pretrained")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("package")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(work), folder=ROOT)
    (wheel,) = work.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Path]:
    """The folder of the unpacked wheel, from which Python imports the package."""
    folder = wheel.parent / "installed"
    with zipfile.ZipFile(wheel) as archive, pytest.MonkeyPatch.context() as patch:
        archive.extractall(folder)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))
        yield folder


@pytest.fixture(scope="module")
def server(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the installed package, which was started from an empty folder and has opened the browser."""
    folder = tmp_path_factory.mktemp("elsewhere")
    program = folder / "browser.py"
    program.write_text(
        f"import pathlib, sys\npathlib.Path({str(folder / 'opened')!r}).write_text(sys.argv[1])\n", "utf-8"
    )
    server = Server(folder / "home", DISPLAY=":9", BROWSER=f"{sys.executable} {program} %s")
    server.folder = folder
    server.command = [sys.executable, "-m", "explorer", "app", "--port", str(server.port), "--host", "127.0.0.1"]
    try:
        server.start()
        yield server
    finally:
        server.stop()


def run(*command: str, folder: Path) -> str:
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def get(server: Server, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    """Return the response to exactly this path, which no client normalizes."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_the_wheel_holds_the_files_of_the_program_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        (commands,) = (archive.read(name) for name in archive.namelist() if name.endswith("/entry_points.txt"))
    sources = {f"explorer/_app/{name}": ROOT / name for name in BESIDE_THE_PACKAGE} | {"explorer": ROOT / "explorer"}
    assert packed == {
        f"{place}/{file.relative_to(source).as_posix()}" if source.is_dir() else place
        for place, source in sources.items()
        for file in (source.rglob("*") if source.is_dir() else [source])
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert commands.decode().split() == ["[console_scripts]", "lineage", "=", "explorer.__main__:main"]
    assert wheel.stat().st_size < 90_000_000  # mostly the included runs
    assert program_files.APP_FOLDER == ROOT, "in a checkout"


def test_the_command_and_the_files_are_those_of_the_package(installed: Path, tmp_path: Path) -> None:
    code = "from explorer import __main__, program_files; print(program_files.APP_FOLDER); __main__.app(['--version'])"
    place, version = run(sys.executable, "-c", code, folder=tmp_path).splitlines()
    assert (Path(place), version) == (installed / "explorer" / "_app", f"lineage {explorer.__version__}")


def test_the_app_has_its_settings_and_pages_from_every_folder(server: Server) -> None:
    received = asyncio.run(visit_page(server.url, "negation"))
    assert "#2F4550" in received and "#B9CBD5" in received  # the colours of .streamlit/config.toml
    assert "Transformer" in received
    for page, text in {"lessons": read_lessons()[0].title, "runs": "Which runs are stored here"}.items():
        assert text in asyncio.run(visit_page(server.url, page))
    assert "Lineage is open at http://127.0.0.1" in (log := (server.home / "server.log").read_text("utf-8"))
    assert "Traceback" not in log and "Streamlit" not in log  # neither its welcome nor its question for an address


def test_a_port_in_use_is_one_sentence(server: Server) -> None:
    process = subprocess.run(server.command, cwd=server.folder, capture_output=True, text=True, encoding="utf-8")
    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (2, "", 1)
    assert f"Port {server.port} is in use" in process.stderr and "--port" in process.stderr


def test_static_files_are_revalidated_and_sent_only_when_changed(server: Server) -> None:
    package = ROOT / "explorer"
    files = [file for file in package.glob("static/**/*") if file.is_file()]
    files += [file for folder in program_files.component_folders().values() for file in (package / folder).iterdir()]
    for file in sorted(set(files)):
        address = f"/assets/{file.relative_to(package).as_posix()}"
        response, body = get(server, address)
        assert (response.status, response.headers["Cache-Control"]) == (200, "no-cache")
        assert body == file.read_bytes()
    not_modified, body = get(server, address, If_None_Match=response.headers["ETag"])
    assert (not_modified.status, body) == (304, b"")


@needs.plotly
def test_plotly_is_the_released_one_cached_by_the_browser_and_compressed(server: Server) -> None:
    response, body = get(server, "/assets/vendor/plotly-cartesian.min.js.gz", Accept_Encoding="gzip")
    assert (response.status, response.headers["Cache-Control"]) == (200, "max-age=86400")
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == needs.PLOTLY.read_bytes(), "copy it anew, see CONTRIBUTING.md"
    version = re.search(rb"v(\d+)\.", gzip.decompress(body)[:200])
    assert version and version[1].decode() == get_plotlyjs_version().split(".")[0], "figures are made for this version"


def test_nothing_but_static_files_and_components_is_served(server: Server) -> None:
    streamlit_page = get(server, "/")[1]
    for path in (
        "/assets/static/../catalogue.py",
        "/assets/static/..%2fcatalogue.py",
        "/assets/static/%2e%2e/catalogue.py",
        "/assets/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fapp.py",
        "/assets/static/..%5c..%5capp.py",
        "/assets/labs/masks/findings.py",
        "/assets/labs/masks/__init__.py",
        "/assets/labs/masks/components/masks/../../findings.py",
        "/assets/labs/masks/components/masks/..%2f..%2ffindings.py",
        "/assets/labs/masks/components/masks/%2e%2e/%2e%2e/findings.py",
        "/assets/labs/masks/components/masks/..%5c..%5cfindings.py",
        "/assets/labs/masks/components/masks/",
        "/assets/labs/context/context_use.json",
        "/assets/labs/../catalogue.py",
        "/assets/labs/",
        "/assets/vendor/../../../../../etc/passwd",
        "/assets/vendor/..%2f__init__.py",
        "/assets/vendor//etc/passwd",
        "/assets/static/",
        "/assets/",
        "/assets/static/nothing.js",
        "/app.py",
        "/pages/home.py",
        "/pretrained/negation-single-rnn/card.json",
        "/.streamlit/config.toml",
    ):
        response, body = get(server, path)
        assert response.status != 200 or body == streamlit_page, path
    assert get(server, "/operator")[0].status == 404, "without a password there is no operator"


def test_an_address_where_the_page_could_not_load_has_a_sentence(server: Server) -> None:
    for path, home in (
        ("/lineage/negation", "../"),
        ("/a/b/c?class=ABCDE", "../../"),
        ("/static/js/nothing.js", "../../"),
    ):
        response, body = get(server, path, Accept="text/html")
        assert response.status == 404
        assert b"There is no page at this address." in body and f'<a href="{home}">'.encode() in body
        assert "Content-Security-Policy" in response.headers
    page = get(server, "/")[1]
    assert get(server, "/nothing")[1] == page, "directly below the base path the page says that it does not exist"
    index = re.search(rb'src="\./(static/js/[^"]+)"', page)
    assert index and get(server, f"/{index[1].decode()}")[0].status == 200


def test_a_page_sets_a_cookie_and_assets_and_jobs_do_not(server: Server) -> None:
    page, _ = get(server, "/", Accept="text/html")
    cookie, *attributes = page.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(attributes)
    for path in ("/", "/assets/static/shared/base.css", "/jobs"):
        response, body = get(server, path, Accept="text/html", Cookie=cookie)
        assert (response.status, response.headers["Set-Cookie"]) == (200, None)
    assert json.loads(body) == {"jobs": []}


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl+C to a whole console only.")
def test_the_browser_was_opened_and_ctrl_c_ends_the_app_without_a_word(server: Server) -> None:
    opened = server.folder / "opened"
    wait_until(lambda: opened.is_file() and opened.read_text("utf-8") == server.url, 300)
    before = (server.home / "server.log").read_text("utf-8")
    assert server.process
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(300) == 0
    assert (server.home / "server.log").read_text("utf-8") == before


def test_the_place_of_the_runs_is_that_of_all_servers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from app import place_of_runs

    assert place_of_runs() == str(home)
    monkeypatch.setenv("LINEAGE_RUNS", "memory://someone:secret@runs/of-a-course")
    assert place_of_runs() == "memory://runs/of-a-course"
