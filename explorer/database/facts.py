"""Single values that all servers of a database know, each under a name."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.database.engine import Base


class Fact(Base):
    __tablename__ = "facts"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


def read_fact(session: Session, name: str) -> str | None:
    """Return the value of this name; None if there is none."""
    fact = session.get(Fact, name)
    return fact.value if fact else None


def write_fact(session: Session, name: str, value: str) -> None:
    """Store a value, in place of an earlier one. The transaction must be one that writes."""
    session.merge(Fact(name=name, value=value))
