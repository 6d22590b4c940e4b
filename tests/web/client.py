"""Starlette's client for tests, and the header that pages send with commands."""

from __future__ import annotations

import warnings

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

__all__ = ["COMMAND", "TestClient"]
COMMAND = {"X-Lineage": "1"}
