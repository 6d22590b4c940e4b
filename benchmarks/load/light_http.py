"""A browser's HTTP requests at little cost, so that hundreds of students fit into one process.

Connections and cookies are kept. Redirects and the attributes of cookies are ignored: no simulated student needs them.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        return json.loads(self.content)


def trusting_context() -> ssl.SSLContext:
    """Return a context for TLS that accepts every certificate, as that of a test's nginx."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@dataclass
class Traffic:
    """How many requests all browsers of this process have sent."""

    requests: int = 0


class LightBrowser:
    """One browser: its cookies and its kept connections to one host.

    address: http://HOST:PORT or https://HOST:PORT, with a base path or without one.
    context: of TLS; None for http.
    timeout: seconds for one request. Raises TimeoutError after it, and OSError if there is no connection.
    """

    def __init__(
        self, address: str, context: ssl.SSLContext | None = None, timeout: float = 60.0, traffic: Traffic | None = None
    ) -> None:
        self.address, self.context, self.timeout = address.rstrip("/"), context, timeout
        self.cookies: dict[str, str] = {}
        self.traffic = traffic or Traffic()
        self._session: aiohttp.ClientSession | None = None  # it can be made only while an event loop runs

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.request("GET", path, headers)

    async def post(self, path: str, headers: Mapping[str, str] | None = None, json: object = None) -> Answer:
        return await self.request("POST", path, headers, json)

    async def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, content: object = None
    ) -> Answer:
        """Send a request, on a kept connection if there is one."""
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self.context or True)
            limit = aiohttp.ClientTimeout(total=self.timeout)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=limit, cookie_jar=aiohttp.DummyCookieJar()
            )
        cookie = (
            {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        )
        url, sent = f"{self.address}/{path.lstrip('/')}", {**(headers or {}), **cookie}
        try:
            async with self._session.request(
                method, url, headers=sent, json=content, allow_redirects=False
            ) as response:
                answer = Answer(response.status, response.headers, await response.read())
        except aiohttp.ClientError as error:
            raise ConnectionResetError("the connection was closed before the answer was whole") from error
        for line in response.headers.getall("Set-Cookie", ()):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name.strip()] = value.strip()
        self.traffic.requests += 1
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session:
            await self._session.close()
