"""A row for each training that several servers share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v005"
down_revision = "v004"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("key", TEXT, primary_key=True),
        sa.Column("submission", TEXT, nullable=False),
        sa.Column("mark", TEXT, nullable=False),
        sa.Column("config", sa.JSON, nullable=False),
        sa.Column("starter", TEXT, nullable=False),
        sa.Column("submitted", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed", sa.DateTime(timezone=True), nullable=False),
        sa.Column("requesters", sa.JSON, nullable=False),
        sa.Column("watchers", sa.JSON, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("stop_requested", sa.Boolean, nullable=False),
        sa.Column("crashes", sa.Integer, nullable=False),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("server", TEXT, nullable=True),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("left", sa.Double, nullable=True),
        sa.Column("loss", sa.Double, nullable=True),
        sa.Column("parameters", sa.BigInteger, nullable=False),
        sa.Column("repeated", sa.Boolean, nullable=True),
        sa.Column("difference", sa.Double, nullable=True),
        sa.Column("saved", sa.Boolean, nullable=False),
        sa.Column("problem", TEXT, nullable=False),
        sa.Column("curves", sa.LargeBinary, nullable=True),
        sa.Column("curves_mark", TEXT, nullable=False),
    )
