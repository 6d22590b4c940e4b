"""Classes that several browsers control, and whose wall shows the explanation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from explorer.database.columns import TEXT

revision = "v006"
down_revision = "v005"


def upgrade() -> None:
    # With defaults, because servers of the earlier version may still write rows.
    op.add_column("classes", sa.Column("teachers", TEXT, nullable=False, server_default=""))
    op.add_column("classes", sa.Column("keys", sa.JSON, nullable=False, server_default="{}"))
    op.add_column("classes", sa.Column("explained", sa.Boolean, nullable=False, server_default=sa.false()))
