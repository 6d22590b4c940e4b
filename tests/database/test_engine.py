"""Transactions, and the values that all servers of a database share."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import NoResultFound

from explorer.database import shared_values
from explorer.database.engine import run_transaction
from explorer.errors import StoreError


def test_a_shared_value_is_that_of_the_first(database: str) -> None:
    assert shared_values.find_or_store("name", lambda: "first") == "first"
    assert shared_values.find_or_store("name", lambda: "second") == "first"
    run_transaction(lambda session: shared_values.write(session, "name", "third"), write=True)
    assert shared_values.find_or_store("name", lambda: "second") == "third"


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_postgresql_is_asked_to_notice_that_a_server_is_gone(database: str) -> None:
    query = text("SELECT name FROM pg_settings WHERE source = 'client' ORDER BY name")
    found = run_transaction(lambda session: session.scalars(query).all())
    tcp = ["tcp_keepalives_count", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_user_timeout"]
    assert list(found) == ["idle_in_transaction_session_timeout", *tcp]


def test_a_transaction_that_the_program_has_made_impossible_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StoreError):
        run_transaction(lambda session: session.get_one(shared_values._Value, "unknown"))
    (record,) = caplog.records
    assert record.exc_info and isinstance(record.exc_info[1], NoResultFound)
