"""The path below which the site stands on its host.

Pages and scripts do not need it: every address that they use is relative to the page, and all pages are in one folder.
"""

from __future__ import annotations

import streamlit as st


def base_path() -> str:
    """Return Streamlit's setting `server.baseUrlPath` as the beginning of a path: "", or such as "/lineage"."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""
