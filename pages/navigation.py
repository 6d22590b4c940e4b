"""The map of all pages: the script that the server runs for every visitor and gesture."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from explorer.catalogue import PAGES
from explorer.training.jobs import service
from explorer.ui.components import jobs_panel
from explorer.ui.projector import projector
from explorer.ui.session import arrived, focus, page_drawn, remember_page, run_in_focus
from explorer.ui.surroundings import page_with_its_surroundings
from explorer.ui.visitors import forget_deleted, window

# A file of ours: Streamlit fetches emoji and icons for the tab from elsewhere.
ICON = Path(__file__).parents[1] / "explorer" / "ui" / "assets" / "icon.svg"

st.set_page_config(page_title="Lineage", page_icon=ICON, layout="wide")

sections: dict[str, list[st.Page]] = {}
for index, row in enumerate(PAGES):
    page = st.Page(row.file, title=row.title, url_path=row.address or None, default=index == 0)
    sections.setdefault(row.section, []).append(page)
chosen = st.navigation(sections, position="top")
remember_page(chosen.url_path)
if "run" in st.query_params:
    focus(st.query_params["run"])
here = window()
if arrived():
    forget_deleted(here)
jobs_panel(key="jobs", here=run_in_focus(), news=service.news)
projector(chosen.url_path)
page_with_its_surroundings(chosen.url_path, chosen.run)
page_drawn()
