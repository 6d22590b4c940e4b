"""Alembic runs this file; `explorer.database.engine` hands it a connection that is in a transaction already."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
