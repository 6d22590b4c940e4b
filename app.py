from pathlib import Path
import streamlit as st, plotly
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
HERE = Path(__file__).parent
app = st.App("pages/navigation.py", routes=[Mount("/assets/lineage", StaticFiles(directory=HERE/"explorer/ui/assets")), Mount("/assets/plotly", StaticFiles(directory=Path(plotly.__file__).parent/"package_data"))])
