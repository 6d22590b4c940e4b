"""A table of single values by name, such as the id of the storage whose runs the database lists."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v002"
down_revision = "v001"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("value", TEXT, nullable=False),
    )
