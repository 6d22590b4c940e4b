"""Rules for every request and response: security headers, connections of own pages only, closed internal addresses.

The middleware stands before Streamlit, which would ask a host on the internet for the server's own address to judge a
foreign Origin.
"""

from __future__ import annotations

import base64
import hashlib
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.environment import environment, split_list

# Where a page may load from, and why more than 'self' is needed.
_POLICY = {
    "default-src": "'self'",
    # blob: Streamlit imports the script of each component from a blob; the scripts in its own page are named by hash
    "script-src": "'self' blob:",
    "style-src": "'self' 'unsafe-inline'",  # Streamlit (emotion), plotly and charts set styles while they draw
    "img-src": "'self' data: blob:",  # icons in style sheets; figures that are saved as pictures
    "font-src": "'self' data:",  # fonts in Streamlit's style sheets
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with "no-referrer" the browser would send no Origin with our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Streamlit's internal addresses that its page needs: the websocket; two that it asks before it connects, which tell
# nothing but limits of uploads; uploads, which need the random number of an open session; style sheets and scripts of
# components. All others (metrics, the agent API, health checks of scripts) are closed, and so is its sign-in.
_INTERNAL = re.compile(r".*/_stcore/.*|/auth/.*|/oauth2callback", re.DOTALL)
_OPEN = re.compile(r"/_stcore/(stream|health|host-config|upload_file/.*|bidi-components/.*)")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_OTHER_SITE = "A page of another site sent this request. Open this site's own page, and try again there."


class SecurityMiddleware:
    """ASGI middleware that sets the security headers and refuses requests from pages of other sites.

    The inline scripts of `index_page` are allowed. `base_path`: below which the site stands, "" or such as "/lineage".
    """

    def __init__(self, app: ASGIApp, index_page: str = "", base_path: str = "") -> None:
        self.app = app
        self.base_path = base_path
        scripts = re.findall(r"<script>(.*?)</script>", index_page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
        policy = _POLICY | {"script-src": " ".join([_POLICY["script-src"], *(f"'sha256-{each}'" for each in digests)])}
        self._policy = "; ".join(f"{name} {value}" for name, value in policy.items())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers[name] = value
                ancestors = " ".join(["'self'", *split_list(environment().frame_ancestors)])
                headers["Content-Security-Policy"] = f"{self._policy}; frame-ancestors {ancestors}"
                is_secure = scope["scheme"] in ("https", "wss")
                message["headers"] = [
                    (name, self._restrict_cookie(value, is_secure) if name.lower() == b"set-cookie" else value)
                    for name, value in message["headers"]
                ]
            await send(message)

        refusal = self._refuse(scope)
        if refusal and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: the browser gets a 403
        elif refusal:
            await refusal(scope, receive, send_with_headers)
        else:
            await self.app(scope, receive, send_with_headers)

    def _restrict_cookie(self, header: bytes, is_secure: bool) -> bytes:
        """Return the header that sets a cookie, ours or Streamlit's, such that only this site gets it.

        In the frame of a site in LINEAGE_FRAME_ANCESTORS a browser sends only cookies with `SameSite=None`. It keeps a
        partitioned one for each site that shows the frame, also if it blocks the cookies of frames.
        """
        cookie, *attributes = header.decode("latin-1").split("; ")
        kept = {name.lower(): (name, *value) for name, *value in (each.split("=", 1) for each in attributes)}
        kept["path"] = ("Path", self.base_path or "/")
        if is_secure:
            kept["secure"] = ("Secure",)
            if environment().frame_ancestors and kept.get("samesite", ("", "lax"))[1].lower() == "lax":
                kept |= {"samesite": ("SameSite", "None"), "partitioned": ("Partitioned",)}
        return "; ".join([cookie, *map("=".join, kept.values())]).encode("latin-1")

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused, or None. The Origin that Streamlit sees is always its own."""
        path: str = scope["path"].removeprefix(self.base_path)
        if _INTERNAL.fullmatch(path) and not _OPEN.fullmatch(path):
            return PlainTextResponse("There is no such page.", 404)
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is None:
            # Browsers send an Origin with every websocket and every POST. Programs that send none could send any, so
            # refusing them would protect nobody.
            return None
        others = [(name, value) for name, value in scope["headers"] if name != b"origin"]
        if is_own_origin(origin, headers.get("host", ""), scope["scheme"]):
            own = f"{scope['scheme'].replace('ws', 'http')}://{headers.get('host', '')}"
            scope["headers"] = [*others, (b"origin", own.encode("latin-1"))]
            return None
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            scope["headers"] = others  # the answer allows no other site to read it
            return None
        return PlainTextResponse(_OTHER_SITE, 403)


def is_own_origin(origin: str, host: str, scheme: str) -> bool:
    """Return whether an Origin is that of this server's pages, or one of LINEAGE_ORIGINS.

    host, scheme: of the request. A proxy may end TLS before the server, so a page of https may use a connection that
    arrives without it, but not the other way round.
    """
    if origin in split_list(environment().origins):
        return True
    try:
        parts, own = urlsplit(origin), urlsplit(f"//{host}")
        default = _DEFAULT_PORTS.get(parts.scheme)
        port, own_port = parts.port or default, own.port or default
    except ValueError:  # a port that is no number
        return False
    if default is None or parts.hostname is None or (scheme in ("https", "wss") and parts.scheme != "https"):
        return False
    return (parts.hostname, port) == (own.hostname, own_port)
