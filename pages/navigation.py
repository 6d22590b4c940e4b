import streamlit as st
st.set_page_config(layout="wide")
st.navigation({"": [st.Page("home.py", title="Lineage", default=True)]}, position="top").run()
