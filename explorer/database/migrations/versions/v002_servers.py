"""A row for each server, and the values that all servers of a database share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v002"
down_revision = "v001"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "servers",
        sa.Column("id", TEXT, primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("version", TEXT, nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leads", sa.Boolean, nullable=False),
        sa.Column("draining", sa.Boolean, nullable=False),
        sa.Column("facts", sa.JSON, nullable=False),
    )
    op.create_table(
        "shared_values", sa.Column("name", TEXT, primary_key=True), sa.Column("value", TEXT, nullable=False)
    )
