from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.training import database as db
from tests import postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each kind of database in turn, empty."""
    if request.param == "postgresql":
        if postgres.missing():
            pytest.skip(postgres.missing())
        monkeypatch.setenv("LINEAGE_DATABASE_URL", postgres.fresh_database())
    yield request.param
    db.forget()
