"""A row for each sweep. (Earlier: also who carries it out, which v007 deletes.)"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from explorer.database.columns import TEXT, TIME, columns, keys

revision = "v003"
down_revision = "v002"


def upgrade() -> None:
    texts = columns(TEXT, "owner", "state", "problem")
    op.create_table("sweeps", *keys("key"), *columns(sa.JSON, "definition"), *texts, *columns(TIME, "created"))
    op.create_index("ix_sweeps_state", "sweeps", ["state"])
