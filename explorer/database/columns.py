"""Kinds of columns, which the tables of the program and the migrations share."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")  # sorted as SQLite does
TIME = sa.DateTime(timezone=True)


def keys(*names: str) -> list[sa.Column[str]]:
    """Return columns with texts that are together the primary key."""
    return [sa.Column(name, TEXT, primary_key=True) for name in names]


def columns(kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    """Return columns of one kind that have a value in each row."""
    return [sa.Column(name, kind, nullable=False) for name in names]
