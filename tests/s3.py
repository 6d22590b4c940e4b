"""A local server that speaks the protocol of S3, for tests: in this process, over the loopback interface only."""

from __future__ import annotations

import atexit
import itertools
from functools import cache

import pytest

_numbers = itertools.count()


@cache
def _address() -> str:
    """Start a server and return its address; it is stopped when the tests end."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    atexit.register(server.stop)
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"


def fresh_bucket(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a new and empty place in a bucket, and set the variables that give access to it."""
    import s3fs

    for name, value in {
        "AWS_ENDPOINT_URL": _address(),
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret-of-anybody",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"runs-{next(_numbers)}"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(bucket)
    return f"s3://{bucket}/lineage"
