import streamlit as st
from explorer.ui.components import verdicts
st.title("hello")
verdicts({"a": 1}, key="v")
