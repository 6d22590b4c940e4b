"""No rows of servers, of their trainings and of who carries a sweep out: Ray knows them.

A training that waits or runs is written to `LINEAGE_HOME/jobs`, from where the server restores it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from explorer.atomic_files import json_bytes, write_file
from explorer.environment import environment

revision = "v007"
down_revision = "v006"


def upgrade() -> None:
    columns: list[sa.ColumnClause[object]] = [
        sa.column(name) for name in ("key", "config", "starter", "requesters", "until", "crashes", "state")
    ]
    jobs = sa.table("jobs", *columns)
    jobs.c.config.type = jobs.c.requesters.type = sa.JSON()
    active = sa.select(jobs).where(jobs.c.state.in_(("waiting", "running")))
    for row in op.get_bind().execute(active).mappings():
        job = {"asked": row["requesters"], **{name: row[name] for name in ("config", "starter", "crashes", "until")}}
        write_file(environment().jobs / row["key"] / "job.json", json_bytes(job))
    op.drop_table("jobs")
    op.drop_table("servers")
    op.drop_column("sweeps", "holder")
    op.drop_column("sweeps", "held_until")
