"""Two experiments with little training data: one string, and 256 sequences."""

from __future__ import annotations

import streamlit as st

from explorer.labs.memory import string_model, train_set_trap
from explorer.labs.memory.state import MemoryState
from explorer.ui.state.session import PageSession


def section(session: PageSession[MemoryState]) -> None:
    """Draw both experiments."""
    st.subheader("A language model of one string", anchor=False)
    string_model.section(session)
    st.subheader("Accuracy on the training sequences and on new ones", anchor=False)
    train_set_trap.section()
