"""Classes with their answers, and the predictions in lessons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v004"
down_revision = "v003"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _code() -> sa.Column[str]:
    """Return the column for the code of a class, with which the row is deleted."""
    return sa.Column("code", TEXT, sa.ForeignKey("classes.code", ondelete="CASCADE"), primary_key=True)


def upgrade() -> None:
    op.create_table(
        "classes",
        sa.Column("code", TEXT, primary_key=True),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("used", sa.DateTime(timezone=True), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("shown", sa.JSON, nullable=False),
        sa.Column("shown_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("vote", sa.Integer, nullable=False),
        sa.Column("votes_shown", sa.Boolean, nullable=False),
        sa.Column("revealed", sa.Boolean, nullable=False),
        sa.Column("sizes", sa.JSON, nullable=False),
        sa.Column("arrivals", sa.Integer, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("kept", sa.Integer, nullable=False),
        sa.Column("dropped", sa.Integer, nullable=False),
        sa.Column("text", TEXT, nullable=False),
    )
    op.create_index("ix_classes_owner", "classes", ["owner"])
    op.create_table(
        "class_answers",
        _code(),
        sa.Column("visitor", TEXT, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("arrival", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("student", sa.Integer, nullable=False),
        sa.Column("first", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("second", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("removed", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint("code", "number", "arrival"),
    )
    op.create_index("ix_class_answers_version", "class_answers", ["code", "version"])
    op.create_table(
        "class_questions",
        _code(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("question", sa.JSON, nullable=False),
        sa.Column("answers", sa.Integer, nullable=False),
    )
    op.create_table("class_texts", _code(), sa.Column("content", TEXT, nullable=False))
    op.create_table(
        "class_members",
        _code(),
        sa.Column("visitor", TEXT, primary_key=True),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_class_members_visitor", "class_members", ["visitor"])
    op.create_table(
        "predictions",
        sa.Column("visitor", TEXT, primary_key=True),
        sa.Column("lesson", TEXT, primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("prediction", sa.JSON, nullable=False),
        sa.Column("stored", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_predictions_stored", "predictions", ["stored"])
