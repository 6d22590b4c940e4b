"""A row for each run folder, and one for each of its tags."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from explorer.database.columns import TEXT, TIME, columns, keys

revision = "v001"
down_revision = None


def upgrade() -> None:
    texts = ("folder", "task", "model", "title", "state", "owner", "name", "note", "parent", "words")
    op.create_table(
        "runs",
        *keys("key"),
        sa.Column("shipped", sa.Boolean, primary_key=True),
        *columns(TEXT, *texts),
        *columns(sa.BigInteger, "step", "steps", "parameters", "seed", "bytes", "changed"),
        *columns(TIME, "created"),
        *columns(sa.Double, "seconds"),
        *columns(sa.Integer, "replicas"),
        *columns(sa.Boolean, "pinned"),
        sa.Column("accuracy", sa.Double, nullable=True),
        *columns(sa.JSON, "metrics", "settings"),
    )
    for column in ("created", "model", "owner"):
        op.create_index(f"ix_runs_{column}", "runs", [column])
    op.create_table(
        "tags",
        *keys("key", "tag"),
        sa.Column("shipped", sa.Boolean, primary_key=True),
        sa.ForeignKeyConstraint(["key", "shipped"], ["runs.key", "runs.shipped"], ondelete="CASCADE"),
    )
