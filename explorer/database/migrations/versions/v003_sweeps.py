"""A row for each sweep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v003"
down_revision = "v002"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "sweeps",
        sa.Column("key", TEXT, primary_key=True),
        sa.Column("definition", sa.JSON, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("problem", TEXT, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("holder", TEXT, nullable=False),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_sweeps_state", "sweeps", ["state"])
