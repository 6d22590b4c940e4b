"""The values that all servers of a database share. (Earlier: also a row for each server, which v007 deletes.)"""

from __future__ import annotations

from alembic import op

from explorer.database.columns import TEXT, columns, keys

revision = "v002"
down_revision = "v001"


def upgrade() -> None:
    op.create_table("shared_values", *keys("name"), *columns(TEXT, "value"))
