"""The map of all pages: the script that the server runs for every visitor and gesture."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from explorer.catalogue import PAGES
from explorer.ui.session import remember_page

# A file of ours: Streamlit fetches emoji and icons for the tab from elsewhere.
ICON = Path(__file__).parents[1] / "explorer" / "ui" / "assets" / "icon.svg"

st.set_page_config(page_title="Lineage", page_icon=ICON, layout="wide")

sections: dict[str, list[st.Page]] = {}
for index, row in enumerate(PAGES):
    page = st.Page(row.file, title=row.title, url_path=row.address or None, default=index == 0)
    sections.setdefault(row.section, []).append(page)
chosen = st.navigation(sections, position="top")
remember_page(chosen.url_path)
chosen.run()
