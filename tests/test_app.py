"""What the server answers besides Streamlit: two folders of assets, a cookie, the jobs, and nothing else."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version

from tests import needs
from tests.serving import ROOT, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("served")) as address:
        yield address


def get(server: str, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    """Return the response to exactly this path, which no client normalizes."""
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


def test_static_files_are_revalidated_and_sent_only_when_changed(server: str) -> None:
    files = sorted(file for file in (ROOT / "explorer/static").rglob("*") if file.is_file())
    for file in files:
        response, body = get(server, f"/assets/lineage/{file.relative_to(ROOT / 'explorer/static').as_posix()}")
        assert (response.status, response.headers["Cache-Control"]) == (200, "no-cache")
        assert body == file.read_bytes()
    etag = response.headers["ETag"]
    not_modified, body = get(
        server, f"/assets/lineage/{files[-1].relative_to(ROOT / 'explorer/static').as_posix()}", If_None_Match=etag
    )
    assert (not_modified.status, body) == (304, b"")


def test_plotly_is_cached_by_the_browser_and_compressed(server: str) -> None:
    response, _ = get(server, "/assets/vendor/plotly-cartesian.min.js.gz", Accept_Encoding="gzip")
    assert response.status == 200
    assert response.headers["Cache-Control"] == "max-age=86400"
    assert response.headers["Content-Encoding"] == "gzip"


@needs.plotly
def test_the_plotly_that_is_served_is_the_released_one(server: str) -> None:
    _, body = get(server, "/assets/vendor/plotly-cartesian.min.js.gz")
    assert gzip.decompress(body) == needs.PLOTLY.read_bytes(), "copy it anew, see CONTRIBUTING.md"
    version = re.search(rb"v(\d+)\.", gzip.decompress(body)[:200])
    assert version and version[1].decode() == get_plotlyjs_version().split(".")[0], "figures are made for this version"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/lineage/../catalogue.py",
        "/assets/lineage/..%2fcatalogue.py",
        "/assets/lineage/%2e%2e/catalogue.py",
        "/assets/lineage/%2e%2e%2f%2e%2e%2f%2e%2e%2fapp.py",
        "/assets/lineage/..%5c..%5capp.py",
        "/assets/vendor/../../../../../etc/passwd",
        "/assets/vendor/..%2f__init__.py",
        "/assets/vendor//etc/passwd",
        "/assets/lineage/",
        "/assets/",
        "/assets/lineage/nothing.js",
    ],
)
def test_nothing_outside_the_two_folders_is_served(server: str, path: str) -> None:
    response, body = get(server, path)
    assert response.status != 200 or body == get(server, "/")[1], "only Streamlit's own page"


@pytest.mark.parametrize(
    ("path", "home"),
    [("/lineage/negation", "../"), ("/a/b/c?class=ABCDE", "../../"), ("/static/js/nothing.js", "../../")],
)
def test_an_address_where_the_page_could_not_load_has_a_sentence(path: str, home: str, server: str) -> None:
    response, body = get(server, path, Accept="text/html")
    assert response.status == 404
    assert b"There is no page at this address." in body and f'<a href="{home}">'.encode() in body
    assert "Content-Security-Policy" in response.headers


def test_an_unknown_page_directly_below_the_base_path_is_left_to_streamlit(server: str) -> None:
    assert get(server, "/nothing")[1] == get(server, "/")[1]
    index = re.search(rb'src="\./(static/js/[^"]+)"', get(server, "/")[1])
    assert index and get(server, f"/{index[1].decode()}")[0].status == 200


def test_the_source_of_the_app_is_not_served(server: str) -> None:
    for path in ("/app.py", "/pages/home.py", "/pretrained/negation-single-rnn/card.json", "/.streamlit/config.toml"):
        response, body = get(server, path)
        assert response.status != 200 or body == get(server, "/")[1]


def test_a_page_sets_a_cookie_and_assets_do_not(server: str) -> None:
    page, _ = get(server, "/", Accept="text/html")
    cookie, *attributes = page.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(attributes)
    for path, headers in (("/", {"Accept": "text/html", "Cookie": cookie}), ("/assets/lineage/shared/base.css", {})):
        response, _ = get(server, path, **headers)
        assert (response.status, response.headers["Set-Cookie"]) == (200, None)


def test_jobs_are_listed_as_json_and_commands_require_the_header(server: str) -> None:
    response, body = get(server, "/jobs")
    assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
    assert json.loads(body) == {"jobs": []}
    for command in ("stop", "resume"):
        assert get(server, f"/jobs/aaaaaaaaaaaa/{command}", "POST")[0].status == 403
        # A training can be resumed only by a browser that has a cookie of this server.
        expected = 404 if command == "stop" else 403
        assert get(server, f"/jobs/aaaaaaaaaaaa/{command}", "POST", X_Lineage="1")[0].status == expected


def test_below_a_path_everything_is_there_and_nothing_elsewhere(tmp_path: Path) -> None:
    with running_server(tmp_path, STREAMLIT_SERVER_BASE_URL_PATH="/a/b/", LINEAGE_OPERATOR_PASSWORD="sesame") as url:
        origin = url.removesuffix("/a/b")
        for path in ("/", "/negation", "/operator", "/jobs", "/lesson-sheet/pieces", "/_stcore/health"):
            assert get(origin, f"/a/b{path}", Accept="text/html")[0].status == 200
        _, style = get(origin, "/a/b/assets/lineage/shared/base.css")
        assert style == (ROOT / "explorer/static/shared/base.css").read_bytes()
        assert "no class" in json.loads(get(origin, "/a/b/class/AAAA")[1])["problem"]
        assert get(origin, "/a/b/results/aaaa")[0].status == 410
        for path in ("/jobs", "/operator", "/assets/lineage/shared/base.css", "/_stcore/health", "/a/jobs"):
            assert get(origin, path)[0].status == 404
        page, _ = get(origin, "/a/b/", Accept="text/html")
        assert "Path=/a/b" in page.headers["Set-Cookie"].split("; ")


def test_the_operator_page_does_not_exist_without_a_password(server: str) -> None:
    assert get(server, "/operator")[0].status == 404


def test_the_place_of_the_runs_is_that_of_all_servers_if_they_share_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app import place_of_runs

    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "home"))
    assert place_of_runs() == str(tmp_path / "home")
    monkeypatch.setenv("LINEAGE_RUNS", "memory://someone:secret@runs/of-a-course")
    assert place_of_runs() == "memory://runs/of-a-course"
