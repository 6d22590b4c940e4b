"""What the server hands out besides Streamlit's own: two folders, a cookie, the trainings, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest

from tests.serving import ROOT, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("served")) as address:
        yield address


def get(server: str, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    """The answer to exactly this path: no client in between tidies it up."""
    connection = HTTPConnection(server.removeprefix("http://"), timeout=30)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_our_own_files_are_asked_for_each_time_and_sent_only_when_changed(server: str) -> None:
    files = sorted(file for file in (ROOT / "explorer/static").rglob("*") if file.is_file())
    for file in files:
        response, body = get(server, f"/assets/lineage/{file.relative_to(ROOT / 'explorer/static').as_posix()}")
        assert (response.status, response.headers["Cache-Control"]) == (200, "no-cache")
        assert body == file.read_bytes()
    known = response.headers["ETag"]
    again, body = get(
        server, f"/assets/lineage/{files[-1].relative_to(ROOT / 'explorer/static').as_posix()}", If_None_Match=known
    )
    assert (again.status, body) == (304, b"")


def test_plotly_is_kept_by_the_browser_and_sent_small(server: str) -> None:
    response, body = get(server, "/assets/plotly/plotly.min.js", Accept_Encoding="gzip")
    assert response.status == 200
    assert response.headers["Cache-Control"] == "max-age=86400"
    assert response.headers["Content-Encoding"] == "gzip"
    assert len(body) < 2_000_000


@pytest.mark.parametrize(
    "path",
    [
        "/assets/lineage/../catalogue.py",
        "/assets/lineage/..%2fcatalogue.py",
        "/assets/lineage/%2e%2e/catalogue.py",
        "/assets/lineage/%2e%2e%2f%2e%2e%2f%2e%2e%2fapp.py",
        "/assets/lineage/..%5c..%5capp.py",
        "/assets/plotly/../../../../../etc/passwd",
        "/assets/plotly/..%2f__init__.py",
        "/assets/plotly//etc/passwd",
        "/assets/lineage/",
        "/assets/",
        "/assets/lineage/nothing.js",
    ],
)
def test_nothing_outside_the_two_folders_is_served(server: str, path: str) -> None:
    response, body = get(server, path)
    assert response.status != 200 or body == get(server, "/")[1], "only Streamlit's own page"


def test_the_source_of_the_app_is_not_served(server: str) -> None:
    for path in ("/app.py", "/pages/home.py", "/pretrained/negation-single-rnn/card.json", "/.streamlit/config.toml"):
        response, body = get(server, path)
        assert response.status != 200 or body == get(server, "/")[1]


def test_a_page_brings_a_cookie_and_its_assets_bring_none(server: str) -> None:
    page, _ = get(server, "/", Accept="text/html")
    cookie, *about = page.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(about)
    for path, headers in (("/", {"Accept": "text/html", "Cookie": cookie}), ("/assets/lineage/shared/base.css", {})):
        response, _ = get(server, path, **headers)
        assert (response.status, response.headers["Set-Cookie"]) == (200, None)


def test_the_trainings_are_json_and_only_the_panel_may_ask_for_something(server: str) -> None:
    response, body = get(server, "/jobs")
    assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
    assert json.loads(body) == {"jobs": []}
    for wish in ("stop", "resume"):
        assert get(server, f"/jobs/aaaaaaaaaaaa/{wish}", "POST")[0].status == 403
        assert get(server, f"/jobs/aaaaaaaaaaaa/{wish}", "POST", X_Lineage="1")[0].status == 404


def test_there_is_no_operator_unless_a_password_is_set(server: str) -> None:
    assert get(server, "/operator")[0].status == 404
