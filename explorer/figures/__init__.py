"""Plotly figures, drawn from arrays; they know neither torch nor streamlit.

Start at `comparison.py` (learning curves of several runs) and `style.py` (colours, number formats, axes). The folders
have the names of those in `explorer/inspection/`, whose results they show; `runs/` shows curves of stored runs.
"""
