"""A browser's HTTP requests at little cost, so that hundreds of students fit into one process.

Connections and cookies are kept. Redirects, compressed answers and the attributes of cookies are not supported, because
no simulated student needs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_LONGEST_LINE = 1 << 20  # bytes of the head of an answer


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status_code: int
    headers: Mapping[str, str]  # lower-case names; of repeated ones the last
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
        parts = urlsplit(address)
        self.host, self.port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        self.path = parts.path.rstrip("/")
        self.context = context if parts.scheme == "https" else None
        self.timeout = timeout
        self.cookies: dict[str, str] = {}
        self.traffic = traffic or Traffic()
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.request("GET", path, headers)

    async def post(self, path: str, headers: Mapping[str, str] | None = None, json: object = None) -> Answer:
        return await self.request("POST", path, headers, json)

    async def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, content: object = None
    ) -> Answer:
        """Send a request, on a kept connection if there is one; a kept one that the server has closed is replaced."""
        body = b"" if content is None else json.dumps(content).encode()
        lines = [
            f"{method} {self.path}/{path.lstrip('/')} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            *(f"{name}: {value}" for name, value in (headers or {}).items()),
        ]
        if self.cookies:
            lines.append(f"Cookie: {self.cookie_header()}")
        if method == "POST":
            lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"]
        data = "\r\n".join([*lines, "", ""]).encode() + body
        async with asyncio.timeout(self.timeout):
            while True:
                was_kept = bool(self._idle)
                reader, writer = self._idle.pop() if was_kept else await self._connect()
                try:
                    writer.write(data)
                    return await self._read(reader, writer, method)
                except (asyncio.IncompleteReadError, OSError) as error:
                    writer.transport.abort()
                    if not was_kept:
                        raise ConnectionResetError("the connection was closed before the answer was whole") from error
                except BaseException:
                    writer.transport.abort()
                    raise

    def cookie_header(self) -> str:
        """Return the value of the header `Cookie`."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def take_cookie(self, header: str) -> None:
        """Keep the cookie of a header `Set-Cookie`."""
        name, _, value = header.partition(";")[0].partition("=")
        self.cookies[name.strip()] = value.strip()

    async def aclose(self) -> None:
        """Close all connections."""
        idle, self._idle = self._idle, []
        for _, writer in idle:
            writer.close()
        for _, writer in idle:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(2):
                    await writer.wait_closed()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port, ssl=self.context, limit=_LONGEST_LINE)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str) -> Answer:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            name = name.lower()
            headers[name] = value.strip()
            if name == "set-cookie":
                self.take_cookie(headers[name])
        is_delimited = "content-length" in headers or "transfer-encoding" in headers
        status, content = int(first.split(" ", 2)[1]), b""
        if method == "HEAD" or status in (204, 304):
            pass
        elif headers.get("transfer-encoding") == "chunked":
            parts = []
            while length := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
                parts.append((await reader.readexactly(length + 2))[:-2])
            await reader.readuntil(b"\r\n")
            content = b"".join(parts)
        elif "content-length" in headers:
            content = await reader.readexactly(int(headers["content-length"]))
        else:
            content = await reader.read()
        if headers.get("connection") == "close" or not is_delimited:
            writer.close()
        else:
            self._idle.append((reader, writer))
        self.traffic.requests += 1
        return Answer(status, headers, content)
