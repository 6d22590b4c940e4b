"""Nothing. (Earlier: a row for each training that several servers share, which v007 moves to files.)"""

from __future__ import annotations

revision = "v005"
down_revision = "v004"


def upgrade() -> None: ...
