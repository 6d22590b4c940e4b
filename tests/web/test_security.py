"""Headers of every response, connections from pages of other sites, closed addresses, and addresses behind a proxy."""

from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from explorer.web.client_address import ClientAddressMiddleware, client_address
from explorer.web.security import SecurityMiddleware, is_own_origin
from explorer.web.visitors import VisitorMiddleware, operator_endpoint
from tests.web.client import TestClient

PAGE = {"accept": "text/html"}


async def respond(request: Request) -> Response:
    address = client_address(request.scope)
    seen = {"origin": request.headers.get("origin"), "scheme": request.url.scheme, "host": request.headers["host"]}
    return JSONResponse({**seen, "address": address})


async def accept(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_json(websocket.headers.get("origin"))
    await websocket.close()


async def set_xsrf_cookie(request: Request) -> Response:
    return Response(headers={"set-cookie": "_streamlit_xsrf=2|a|b|1; Path=/; SameSite=Lax"})  # as Streamlit does


def open_browser(address: str = "8.8.8.8", base_path: str = "") -> TestClient:
    middleware = [
        Middleware(ClientAddressMiddleware),
        Middleware(SecurityMiddleware, index_page="<script>1</script>", base_path=base_path),
        Middleware(VisitorMiddleware),
    ]
    routes = [
        WebSocketRoute("/_stcore/stream", accept),
        Route(f"{base_path}/_stcore/host-config", set_xsrf_cookie),
        Route(f"{base_path}/operator", operator_endpoint, methods=["GET", "POST"]),
        Route("/{path:path}", respond, methods=["GET", "POST"]),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    return TestClient(app, "http://lineage.test", client=(address, 5))


def test_every_response_has_the_headers() -> None:
    expected = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}
    expected["cross-origin-opener-policy"] = "same-origin"
    for response in (open_browser().get("/"), open_browser().get("/_stcore/metrics")):
        policy = dict(entry.split(" ", 1) for entry in response.headers["content-security-policy"].split("; "))
        assert policy["script-src"].startswith("'self' blob: 'sha256-") and "unsafe" not in policy["script-src"]
        assert (policy["default-src"], policy["frame-ancestors"]) == ("'self'", "'self'")
        assert expected.items() <= response.headers.items()


def test_a_learning_platform_may_show_the_pages_in_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_FRAME_ANCESTORS", "https://moodle.example.org, https://*.example.com")
    browser = open_browser()
    response = browser.get("https://lineage.test/", headers=PAGE)
    policy = response.headers["content-security-policy"]
    assert policy.endswith("; frame-ancestors 'self' https://moodle.example.org https://*.example.com")
    xsrf = browser.get("https://lineage.test/_stcore/host-config")
    for answer in (response, xsrf):
        assert {"SameSite=None", "Secure", "Partitioned"} <= cookie_attributes(answer)
    assert {"SameSite=lax"} <= cookie_attributes(browser.get("http://lineage.test/", headers=PAGE)), "not without TLS"
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open sesame")
    form = {"password": "open sesame"}
    signed_in = browser.post("https://lineage.test/operator", data=form, follow_redirects=False)
    assert {"SameSite=strict", "Secure"} <= cookie_attributes(signed_in), "the operator is never in a frame"


def cookie_attributes(response: httpx.Response) -> set[str]:
    return set(response.headers["set-cookie"].split("; ")[1:])


def test_over_https_every_cookie_is_secure_and_none_is_for_other_sites() -> None:
    visitor = open_browser().get("https://lineage.test/", headers=PAGE)
    xsrf = open_browser().get("https://lineage.test/_stcore/host-config")
    assert cookie_attributes(visitor) == {"HttpOnly", "Max-Age=31536000", "Path=/", "SameSite=lax", "Secure"}
    assert xsrf.headers["set-cookie"] == "_streamlit_xsrf=2|a|b|1; Path=/; SameSite=Lax; Secure"
    assert "Secure" not in cookie_attributes(open_browser().get("/", headers=PAGE))


def test_below_a_path_cookies_are_for_this_path_and_internal_pages_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", "open sesame")
    browser = open_browser(base_path="/a/b")
    signed_in = browser.post("/a/b/operator", data={"password": "open sesame"}, follow_redirects=False)
    for response in (browser.get("/a/b/", headers=PAGE), browser.get("/a/b/_stcore/host-config"), signed_in):
        assert "Path=/a/b" in cookie_attributes(response)
    assert signed_in.next_request and signed_in.next_request.url.path == "/a/b/operator"
    for path, status in (("health", 200), ("metrics", 404), ("../auth/login", 404), ("runs/_stcore/health", 404)):
        assert browser.get(f"/a/b/_stcore/{path}").status_code == status


def test_internal_addresses_are_closed() -> None:
    closed = ("/_stcore/metrics", "/_stcore/agent/mcp", "/x/_stcore/health", "/auth/login", "/oauth2callback")
    for path in (*closed, "/_stcore/health", "/_stcore/upload_file/a/b", "/_stcore/bidi-components/x.js"):
        assert open_browser().get(path).status_code == (404 if path in closed else 200)


def connect(**headers: str) -> object:
    with open_browser().websocket_connect("ws://lineage.test/_stcore/stream", headers=headers) as websocket:
        return websocket.receive_json()


def test_a_request_of_another_site_is_refused_and_a_get_has_no_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connect(origin="http://lineage.test") == "http://lineage.test"
    assert connect() is None
    for origin in ("http://lineage.test:8080", "http://evil.test", "null", "", "http://lineage.test.evil.test"):
        with pytest.raises(WebSocketDisconnect):
            connect(origin=origin)
    monkeypatch.setenv("LINEAGE_ORIGINS", "https://school.example.org")
    assert connect(origin="https://school.example.org") == "http://lineage.test"
    foreign = {"origin": "http://evil.test"}
    assert open_browser().post("/jobs", headers=foreign).status_code == 403
    assert open_browser().post("/jobs", headers={"origin": "http://lineage.test"}).status_code == 200
    assert open_browser().get("/", headers=foreign).json()["origin"] is None


def test_an_origin_is_own_if_host_and_port_agree() -> None:
    for origin, host, scheme, own in (
        ("https://a.org", "a.org", "wss", True),
        ("https://a.org", "a.org", "ws", True),  # a proxy ends TLS
        ("http://a.org", "a.org", "wss", False),
        ("https://A.org:443", "a.org", "wss", True),
        ("http://a.org:8501", "a.org:8501", "ws", True),
        ("http://a.org:8501", "a.org", "ws", False),
        ("http://[::1]:8501", "[::1]:8501", "ws", True),
        ("http://a.org:x", "a.org", "ws", False),
        ("file://", "", "ws", False),
        ("ftp://a.org", "a.org", "ws", False),
    ):
        assert is_own_origin(origin, host, scheme) == own, origin


def test_only_a_trusted_proxy_names_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for trusted, peer, forwarded, address in (
        ("10.0.0.0/8", "8.8.8.8", "1.1.1.1", "8.8.8.8"),  # no trusted proxy: a forged header changes nothing
        ("10.0.0.0/8", "8.8.8.8", "8.8.8.8", "127.0.0.1"),  # see `_apply_forwarded_headers`
        ("10.0.0.0/8", "10.0.0.7", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.0/8", "10.0.0.7", "6.6.6.6, 1.1.1.1", "1.1.1.1"),  # what stands before is the client's own
        ("10.0.0.0/8", "10.0.0.7", "6.6.6.6, 1.1.1.1, 10.0.0.8", "1.1.1.1"),
        ("10.0.0.0/8", "10.0.0.7", "1.1.1.1, <script>", "10.0.0.7"),
        ("10.0.0.0/8", "10.0.0.7", "", "10.0.0.7"),
        ("10.0.0.0/8", "10.0.0.7", "[2001:db8:1:2:3::4]:99", "2001:db8:1:2::/64"),
        ("10.0.0.0/8", "10.0.0.7", "1.1.1.1:1234", "1.1.1.1"),
        ("10.0.0.0/8", "2001:db8:1:2:3::4", "", "2001:db8:1:2::/64"),
        ("10.0.0.0/8", "not an address", "", "unknown"),
        ("127.0.0.1", "8.8.8.8", "1.1.1.1, 8.8.8.8", "8.8.8.8"),  # uvicorn has replaced the client, a proxy here
        ("127.0.0.1", "8.8.8.8", "8.8.8.8, 127.0.0.1", "8.8.8.8"),
        ("127.0.0.1", "8.8.8.8", "8.8.8.8, 1.1.1.1", "8.8.8.8"),  # a client elsewhere forges an address
        ("127.0.0.1", "127.0.0.1", "", "127.0.0.1"),
    ):
        monkeypatch.setenv("LINEAGE_TRUSTED_PROXIES", trusted)
        headers = {"x-forwarded-for": forwarded, "x-forwarded-proto": "https", "x-forwarded-host": "school.example.org"}
        seen = open_browser(peer).get("/", headers=headers).json()
        assert seen["address"] == address, (peer, forwarded)
        if trusted == "10.0.0.0/8":
            expected = ("https", "school.example.org") if peer.startswith("10.") else ("http", "lineage.test")
            assert (seen["scheme"], seen["host"]) == expected
