"""A real nginx for tests: a file of `deploy/` with other names and ports, run by this user with its own certificate."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.serving import ROOT, free_port

# Debian installs it where only the administrator's shell looks.
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
OPENSSL = shutil.which("openssl")
_MAIN = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log warn;
events {{ worker_connections 8192; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {sites}
}}
"""


def missing() -> bool:
    """Return whether this machine has no nginx, or no openssl for its certificate."""
    return NGINX is None or OPENSSL is None


def fill_in_config(text: str, **changes: str) -> str:
    """Return a text with each of `changes` made; what is changed must be there."""
    for old, new in changes.items():
        assert old in text, f"{old} is no longer in the file"
        text = text.replace(old, new)
    return text


def site(upstream: int, port: int, folder: Path, names: str = "localhost", path: str = "/lineage") -> str:
    """Return `deploy/nginx.conf` for a server on this port, with the certificate in this folder."""
    return _fill_in_site("nginx.conf", port, folder, names, path, **{"127.0.0.1:8501": f"127.0.0.1:{upstream}"})


def site_of_several(
    upstreams: Sequence[int], port: int, folder: Path, names: str = "localhost", path: str = "/lineage"
) -> str:
    """Return `deploy/nginx-several.conf` for three servers on these ports, with the certificate in this folder."""
    changes = {f"127.0.0.1:{8501 + i}": f"127.0.0.1:{upstream}" for i, upstream in enumerate(upstreams)}
    changes["Path=/lineage;"] = f"Path={path};"
    return _fill_in_site("nginx-several.conf", port, folder, names, path, **changes)


def _fill_in_site(file: str, port: int, folder: Path, names: str, path: str, **changes: str) -> str:
    common = {
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "lineage.example.org": names,
        "/etc/ssl/lineage": str(folder),
        "/lineage {": f"{path} {{",
        "/lineage/": f"{path}/",
    }
    return fill_in_config((ROOT / "deploy" / file).read_text(), **common, **changes)


def static_sites(port: int, folder: Path, *names: str) -> str:
    """Return further sites on the same port, which show the files of `folder/NAME`."""
    certificate = f"ssl_certificate {folder}/fullchain.pem; ssl_certificate_key {folder}/privkey.pem;"
    return "".join(
        f"server {{ listen 127.0.0.1:{port} ssl http2; server_name {name}; {certificate} root {folder}/{name};"
        " default_type text/html; }\n"
        for name in names
    )


def write_configuration(folder: Path, sites: str) -> Path:
    """Write a certificate and a configuration that needs no rights into a folder; return the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(OPENSSL), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-keyout", f"{folder}/privkey.pem", "-out", f"{folder}/fullchain.pem"]
    subprocess.run(command, check=True, capture_output=True)
    file = folder / "main.conf"
    file.write_text(_MAIN.format(folder=folder, sites=sites))
    return file


@contextmanager
def running_nginx(folder: Path, sites: str, port: int) -> Iterator[subprocess.Popen[str]]:
    """Run nginx with these sites for the duration of the block, and yield its process; a site listens on `port`."""
    file = write_configuration(folder, sites)
    command = [str(NGINX), "-p", str(folder), "-c", str(file), "-e", str(folder / "error.log")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        deadline = time.monotonic() + 30
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                output = process.stdout.read() if process.poll() is not None and process.stdout else ""
                raise RuntimeError(f"nginx did not start: {output}")
            time.sleep(0.02)
        yield process
    finally:
        process.terminate()
        process.communicate()


def _listens(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0
