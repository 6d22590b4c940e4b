"""Where the files of the program are: in a checkout of the repository, or in an installed package."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

PACKAGE = Path(__file__).parent
VERSION: str = import_module("explorer").__version__  # `from explorer import …` would depend on what it exports
# In an installed package, what stands beside `explorer` in the repository is inside it; see `force-include` in
# pyproject.toml: app.py, .streamlit, pages, lessons and the included runs.
_INSTALLED = PACKAGE / "_app"
APP_FOLDER = _INSTALLED if _INSTALLED.is_dir() else PACKAGE.parent

APP = APP_FOLDER / "app.py"
LESSONS = APP_FOLDER / "lessons"
PRETRAINED = APP_FOLDER / "pretrained"
STATIC_FILES = PACKAGE / "static"
LAB_FILES = PACKAGE / "labs"


@cache
def component_folders() -> dict[str, str]:
    """Return the folder of each browser component in the package, by its name.

    It is in its lab, or in `static/components` if several pages use it.
    """
    views = (*STATIC_FILES.glob("components/*/view.js"), *LAB_FILES.glob("*/components/*/view.js"))
    return {view.parent.name: view.parent.relative_to(PACKAGE).as_posix() for view in views}
