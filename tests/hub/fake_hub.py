"""A server on this machine that answers as the Hugging Face hub does, with one repository and faults on request."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT, OTHER_COMMIT = "1" * 40, "2" * 40


@dataclass
class FakeHub:
    """The repository of the server, and how it misbehaves."""

    id: str
    files: dict[str, bytes]
    commit: str = COMMIT
    address: str = ""
    refuse: tuple[int, str] | None = None  # HTTP status and X-Error-Code of every answer
    end_after: int = 0  # bytes of a long file, after which the connection ends, once; not of a header
    ignores_ranges: bool = False
    replaced: dict[str, bytes] = field(default_factory=dict)  # other content than the repository lists
    requests: list[tuple[str, str]] = field(default_factory=list)  # path and range
    paused: threading.Event = field(default_factory=threading.Event)  # while unset, long files wait

    def listing(self) -> dict[str, object]:
        siblings: list[dict[str, object]] = []
        for name, content in self.files.items():
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            siblings.append({"rfilename": name, "size": len(content), "blobId": blob})
            if name.endswith(".safetensors"):
                sha = hashlib.sha256(content).hexdigest()
                siblings[-1]["lfs"] = {"sha256": sha, "size": len(content), "pointerSize": 130}
        return {"id": self.id, "sha": self.commit, "cardData": {"license": "mit"}, "siblings": siblings}


def read_folder(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@contextmanager
def serve(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve a repository until the end of the block."""
    hub.paused.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def answer(self, status: int, content: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            is_header = self.headers.get("Range", "").startswith("bytes=0-")
            if hub.end_after and len(content) > hub.end_after and not is_header:
                self.wfile.write(content[: hub.end_after])
                hub.end_after = 0
                self.close_connection = True
                return
            self.wfile.write(content[:50_000])
            if len(content) > 100_000:
                hub.paused.wait(120)
            self.wfile.write(content[50_000:])

        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            path = self.path.partition("?")[0]
            hub.requests.append((path, wanted))
            if hub.refuse:
                self.answer(hub.refuse[0], b"{}", X_Error_Code=hub.refuse[1], X_Error_Message="refused")
                return
            if re.fullmatch(f"/api/models/{hub.id}(/revision/.+)?", path):
                self.answer(200, json.dumps(hub.listing()).encode(), Content_Type="application/json")
                return
            found = re.fullmatch(f"/{hub.id}/resolve/{hub.commit}/(.+)", path)
            content = hub.replaced.get(found[1], hub.files.get(found[1])) if found else None
            if content is None:
                self.answer(404, b"", X_Error_Code="EntryNotFound" if found else "RepoNotFound")
                return
            part = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted)
            if part and not hub.ignores_ranges:
                first, last = int(part[1]), int(part[2] or len(content) - 1)
                self.answer(206, content[first : last + 1], Content_Range=f"bytes {first}-{last}/{len(content)}")
            else:
                self.answer(200, content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign,assignment]  # a client that has cancelled
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.paused.set()
        server.shutdown()
        thread.join()
        server.server_close()
