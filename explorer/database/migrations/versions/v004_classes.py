"""Classes with their answers, and the predictions in lessons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from explorer.database.columns import TEXT, TIME, columns, keys

revision = "v004"
down_revision = "v003"


def _code() -> sa.Column[str]:
    """Return the column for the code of a class, with which the row is deleted."""
    return sa.Column("code", TEXT, sa.ForeignKey("classes.code", ondelete="CASCADE"), primary_key=True)


def upgrade() -> None:
    op.create_table(
        "classes",
        *keys("code"),
        *columns(TEXT, "owner", "text"),
        *columns(TIME, "started", "used", "shown_at"),
        *columns(sa.Integer, "version", "number", "vote", "arrivals", "kept", "dropped"),
        *columns(sa.JSON, "shown", "sizes"),
        *columns(sa.Boolean, "votes_shown", "revealed", "closed"),
    )
    op.create_index("ix_classes_owner", "classes", ["owner"])
    op.create_table(
        "class_answers",
        _code(),
        *keys("visitor"),
        sa.Column("number", sa.Integer, primary_key=True),
        *columns(sa.Integer, "arrival", "student", "version"),
        *columns(sa.Double, "seconds"),
        *(sa.Column(name, sa.JSON(none_as_null=True), nullable=True) for name in ("first", "second")),
        *columns(sa.Boolean, "removed"),
        sa.UniqueConstraint("code", "number", "arrival"),
    )
    op.create_index("ix_class_answers_version", "class_answers", ["code", "version"])
    op.create_table(
        "class_questions",
        _code(),
        sa.Column("number", sa.Integer, primary_key=True),
        *columns(sa.JSON, "question"),
        *columns(sa.Integer, "answers"),
    )
    op.create_table("class_texts", _code(), *columns(TEXT, "content"))
    op.create_table("class_members", _code(), *keys("visitor"), *columns(TIME, "seen"))
    op.create_index("ix_class_members_visitor", "class_members", ["visitor"])
    op.create_table(
        "predictions",
        *keys("visitor", "lesson"),
        sa.Column("step", sa.Integer, primary_key=True),
        *columns(sa.JSON, "prediction"),
        *columns(TIME, "stored"),
    )
    op.create_index("ix_predictions_stored", "predictions", ["stored"])
