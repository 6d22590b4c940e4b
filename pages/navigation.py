"""The entry script of the app: defines the navigation and draws the selected page at every rerun."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import PAGES
from explorer.jobs.service import service
from explorer.program_files import STATIC_FILES
from explorer.ui.classroom.page_shell import draw_jobs_panel, draw_page_in_shell, watch_address
from explorer.ui.classroom.share_form import draw_share_menu
from explorer.ui.page_turns import page_turn
from explorer.ui.state.fragments import run_after_reconnecting
from explorer.ui.state.session import focus_run, focused_run, has_just_arrived, page_url_params, record_page
from explorer.ui.state.visitor import current_tab, purge_deleted_runs

# A local file: Streamlit loads emoji and Material icons for the browser tab from another server.
ICON = STATIC_FILES / "shared" / "icon.svg"

with page_turn():
    st.set_page_config(page_title="Lineage", page_icon=ICON, layout="wide")

    sections: dict[str, list[st.Page]] = {}
    for index, row in enumerate(PAGES):
        page = st.Page(row.file, title=row.title, url_path=row.address or None, default=index == 0)
        sections.setdefault(row.section, []).append(page)
    selected_page = st.navigation(sections, position="top")
    record_page(selected_page.url_path)
    if run := page_url_params().get("run"):
        focus_run(run)
    tab = current_tab()
    if has_just_arrived():
        purge_deleted_runs(tab)
    run_after_reconnecting()
    watch_address(selected_page.url_path)
    draw_jobs_panel(key="jobs", current_run=focused_run(), version=service.version)
    draw_share_menu(selected_page.url_path)
    draw_page_in_shell(selected_page.url_path, selected_page.run)
