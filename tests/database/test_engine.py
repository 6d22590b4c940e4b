"""Connections to the database."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from explorer.database.engine import run_transaction


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_postgresql_is_asked_to_notice_that_a_server_is_gone(database: str) -> None:
    query = text("SELECT name FROM pg_settings WHERE source = 'client' AND name LIKE 'tcp%' ORDER BY name")
    found = run_transaction(lambda session: session.scalars(query).all())
    assert list(found) == ["tcp_keepalives_count", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_user_timeout"]
