"""Texts by name that all servers of a database agree on, such as the key that signs cookies."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.database.engine import Base, run_transaction


class _Value(Base):
    __tablename__ = "shared_values"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


def find_or_store(name: str, make: Callable[[], str]) -> str:
    """Return the value of this name; the first server that asks stores the one that it makes. Raises StoreError."""
    if (found := run_transaction(lambda session: read(session, name))) is not None:
        return found
    made = make()

    def store(session: Session) -> str:
        if (found := read(session, name)) is None:
            write(session, name, made)
        return made if found is None else found

    return run_transaction(store, write=True, lock="shared values")


def read(session: Session, name: str) -> str | None:
    """Return the value of this name within a transaction; None if there is none."""
    row = session.get(_Value, name)
    return row.value if row else None


def write(session: Session, name: str, value: str) -> None:
    """Store the value of this name within a transaction that writes."""
    session.merge(_Value(name=name, value=value))
