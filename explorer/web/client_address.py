"""The address of a visitor's machine, also behind a proxy.

A proxy sends the address of its client in the header X-Forwarded-For. Everybody can send this header, so it counts only
if the request comes from an address in LINEAGE_TRUSTED_PROXIES.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from explorer.environment import environment, split_list

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
UNKNOWN = "unknown"  # the address of a client without an IP address; all of them share their rate limits
_LOOPBACK = "127.0.0.1"
_LOOPBACKS = (ipaddress.ip_address(_LOOPBACK), ipaddress.ip_address("::1"))


class ClientAddressMiddleware:
    """ASGI middleware that replaces client, scheme and host of a request by those that a trusted proxy forwards."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            _apply_forwarded_headers(scope)
        await self.app(scope, receive, send)


def client_address(scope: Scope) -> str:
    client = scope.get("client")
    return address_group(client[0] if client else "")


def address_group(text: str) -> str:
    """Return the text of an address as rate limits count it. One household or machine has a whole IPv6 network."""
    address = _parse_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address or UNKNOWN)


def is_loopback(text: str) -> bool:
    """Return whether this is an address by which a machine reaches itself."""
    address = _parse_address(text)
    return address is not None and address.is_loopback


def _apply_forwarded_headers(scope: Scope) -> None:
    headers = Headers(scope=scope)
    forwarded = [
        _parse_address(entry) for line in headers.getlist("x-forwarded-for") for entry in line.split(",") if entry
    ]
    client, port = scope.get("client") or ("", 0)
    peer = _parse_address(client)
    if peer is not None and peer == next((each for each in reversed(forwarded) if each not in _LOOPBACKS), None):
        # uvicorn trusts proxies on this machine, before our setting can be read, and has replaced the client by the
        # last forwarded address that is not of this machine. A client elsewhere that forwards its own address as the
        # last one looks the same, and gains nothing: the loop below finds that address again.
        peer = ipaddress.ip_address(_LOOPBACK)
        scope["client"] = (_LOOPBACK, 0)
    if not _is_trusted(peer):
        return
    for address in reversed(forwarded):  # each proxy appends the address of its client: the last ones are reliable
        if address is None:
            break
        scope["client"] = (str(address), port)
        if not _is_trusted(address):
            break
    protocol = headers.get("x-forwarded-proto", "").strip().lower()
    if protocol in ("http", "https"):
        scope["scheme"] = protocol if scope["type"] == "http" else protocol.replace("http", "ws")
    if host := headers.get("x-forwarded-host", "").strip():
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        scope["headers"] = [*others, (b"host", host.encode("latin-1"))]


def _parse_address(text: str) -> _Address | None:
    """Return the address of an entry such as 1.2.3.4, 1.2.3.4:80, ::1 or [::1]:80, or None."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_trusted(address: _Address | None) -> bool:
    networks = _parse_networks(environment().trusted_proxies)
    return address is not None and any(address in network for network in networks)


@lru_cache(maxsize=4)
def _parse_networks(text: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(entry, strict=False) for entry in split_list(text))
