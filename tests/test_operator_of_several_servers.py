"""Two servers on one database: the operator of either sees both, and drains the other one."""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from tests import needs, postgres
from tests.serving import running_server

PASSWORD = "the password of the operator"


@needs.postgresql
def test_the_operator_of_one_server_sees_and_drains_the_other(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    settings = {
        "LINEAGE_DATABASE_URL": postgres.fresh_database(),
        "LINEAGE_RUNS": (tmp_path / "runs").as_uri(),
        "LINEAGE_OPERATOR_PASSWORD": PASSWORD,
        "LINEAGE_SECRET": "a secret of both servers",
    }
    with ExitStack() as stack:
        here, there = (stack.enter_context(running_server(tmp_path / name, **settings)) for name in ("one", "two"))
        operator = stack.enter_context(httpx.Client(base_url=here, trust_env=False))
        operator.post("/operator", data={"password": PASSWORD})
        servers = operator.get("/operator/state").json()["servers"]
        assert [server["this"] for server in servers] == [True, False]
        ports = [url.rpartition(":")[2] for url in (here, there)]
        assert [server["name"].rpartition(":")[2] for server in servers] == ports
        seen = [datetime.fromisoformat(server["seen"]) for server in servers]
        assert all(abs(datetime.now(UTC) - each) < timedelta(minutes=20) for each in seen), "not in UTC"
        assert all(server["facts"]["memory"]["server"] > 0 for server in servers)
        address = f"/operator/servers/{servers[1]['id']}"
        for command, status in (("drain", 503), ("undrain", 200)):
            assert operator.post(f"{address}/{command}", headers={"X-Lineage": "1"}).status_code == 204
            deadline = time.monotonic() + 20
            while httpx.get(f"{there}/ready", trust_env=False).status_code != status:
                assert time.monotonic() < deadline, "the other server has not obeyed"
                time.sleep(0.1)
            assert operator.get("/ready").status_code == 200
