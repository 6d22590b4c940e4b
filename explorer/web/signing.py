"""The key with which this server signs its cookies: LINEAGE_SECRET, or a random one.

The random one is in a file that only this server can read, and in the database: servers that share it use the same.
"""

from __future__ import annotations

import logging
import os
import secrets
from functools import lru_cache
from pathlib import Path

from explorer.database import shared_values
from explorer.environment import environment

log = logging.getLogger(__name__)
FILE = "secret"  # in LINEAGE_HOME


def signing_key() -> str:
    """Return the secret key of this server. Raises StoreError if the database does not answer to the first request."""
    settings = environment()
    return settings.secret or _shared_key(settings.database_url, settings.home)


@lru_cache(maxsize=8)
def _shared_key(database_url: str, home: Path) -> str:
    """Return the key in the database of this address; the first server stores the one in its file."""
    return shared_values.find_or_store("key that signs cookies", lambda: _stored_key(home))


@lru_cache(maxsize=8)
def _stored_key(home: Path) -> str:
    """Return the key in the file, which is created if it is missing; two processes that start together agree on one."""
    path = home / FILE
    try:
        if not path.exists():
            _create(path)
        key = path.read_text("utf-8").strip()
        problem = "" if len(key) >= 16 else "it holds no secret key; delete it or set LINEAGE_SECRET"
    except OSError as error:
        problem = str(error)
    if problem:
        log.warning("The secret key cannot be kept in %s (%s). Visitors are new after a restart.", path, problem)
        return secrets.token_urlsafe(32)
    return key


def _create(path: Path) -> None:
    """Write a new key under another name and link it, so that the file is complete as soon as it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(32))
        try:
            os.link(part, path)
        except FileExistsError:  # another process was first, and its key counts
            pass
        except OSError:  # a file system without hard links, such as exFAT
            if not path.exists():
                part.rename(path)
    finally:
        part.unlink(missing_ok=True)
