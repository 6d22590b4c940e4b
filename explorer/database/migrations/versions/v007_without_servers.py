"""No rows of servers, of their trainings and of who carries a sweep out: Ray knows them.

Earlier versions made these tables and columns; a new database has never had them. A training that waits or runs is
written to `LINEAGE_HOME/jobs`, from where the server restores it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from explorer.atomic_files import json_bytes, write_file
from explorer.environment import environment

revision = "v007"
down_revision = "v006"


def upgrade() -> None:
    connection = op.get_bind()
    inspector = sa.inspect(connection)
    if inspector.has_table("jobs"):
        jobs = sa.Table("jobs", sa.MetaData(), autoload_with=connection)
        active = sa.select(jobs).where(jobs.c.state.in_(("waiting", "running")))
        for row in connection.execute(active).mappings():
            job = {
                "asked": row["requesters"],
                **{name: row[name] for name in ("config", "starter", "crashes", "until")},
            }
            write_file(environment().jobs / row["key"] / "job.json", json_bytes(job))
        op.drop_table("jobs")
    if inspector.has_table("servers"):
        op.drop_table("servers")
    for column in {"holder", "held_until"} & {each["name"] for each in inspector.get_columns("sweeps")}:
        op.drop_column("sweeps", column)
