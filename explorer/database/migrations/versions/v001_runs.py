"""A row for each run folder, and one for each of its tags."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v001"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("key", TEXT, primary_key=True),
        sa.Column("shipped", sa.Boolean, primary_key=True),
        sa.Column("folder", TEXT, nullable=False),
        sa.Column("task", TEXT, nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("steps", sa.BigInteger, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("parameters", sa.BigInteger, nullable=False),
        sa.Column("replicas", sa.Integer, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("pinned", sa.Boolean, nullable=False),
        sa.Column("parent", TEXT, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("changed", sa.BigInteger, nullable=False),
        sa.Column("accuracy", sa.Double, nullable=True),
        sa.Column("metrics", sa.JSON, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("words", TEXT, nullable=False),
    )
    for column in ("created", "model", "owner"):
        op.create_index(f"ix_runs_{column}", "runs", [column])
    op.create_table(
        "tags",
        sa.Column("key", TEXT, primary_key=True),
        sa.Column("shipped", sa.Boolean, primary_key=True),
        sa.Column("tag", TEXT, primary_key=True),
        sa.ForeignKeyConstraint(["key", "shipped"], ["runs.key", "runs.shipped"], ondelete="CASCADE"),
    )
