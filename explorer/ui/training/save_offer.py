"""The offer to save runs on a visitor's own text, which otherwise end with the visit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from explorer.errors import LineageError
from explorer.jobs.service import service
from explorer.ui.state.session import PageSession
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.run_view import RunView


def save_offer(session: PageSession[Any], views: Mapping[str, RunView], what: str, seen: str) -> None:
    """Offer to save runs on a private text, which are otherwise dropped at the end of the visit.

    what: what the models are trained on, as in “your text”
    seen: what others see of a saved run
    """
    unsaved = [view for view in views.values() if view.private and view.job and not view.job.saved]
    if not unsaved:
        return

    def save() -> None:
        try:
            for view in unsaved:
                service.save(view.job.key, current_visitor().id)  # type: ignore[union-attr]
        except LineageError as error:
            session.problems = (str(error),)
        else:
            st.toast("The runs are saved. The page “Runs” lists them.", icon=":material/check:")

    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(
            f"These models are trained on {what}. They stay in the memory of this server until your visit ends. **If "
            f"you save them, everybody on this server can see {seen}.**"
        )
        st.button(
            f"Save {len(unsaved)} run{'s' * (len(unsaved) > 1)}", icon=":material/save:", on_click=save, key="text.save"
        )
