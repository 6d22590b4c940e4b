"""A component of the app as one text that needs no server: its JavaScript modules, its styles and its data.

The modules are those that the app serves, unchanged but for the names in their imports: the browser
makes a module of each text (`static/shared/runtime/embed.js`). So there is no bundle that could be out of date.
"""

from __future__ import annotations

import base64
import html
import json
import posixpath
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray
from safetensors.numpy import save

from explorer.program_files import PACKAGE, component_folders

_IMPORT = re.compile(r'(?<=\bfrom )"(\.[^"]+)"|(?<=\bimport )"(\.[^"]+)"')
_CSS_IMPORT = re.compile(r'@import url\("([^"]+)"\);[^\n]*')
_HEIGHT = 640  # px of an iframe until its page has measured itself
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 0; }}</style></head>
<body><script type="module">
{loader}
showPage({arguments}, {data});
</script></body>
</html>
"""


@lru_cache
def component_modules(name: str) -> tuple[tuple[str, str], ...]:
    """Return path and source of each module of a component, after those that it imports; its view is the last one.

    An import names the path of a module as "import:PATH". Raises ValueError if two modules import each other.
    """
    found: dict[str, str] = {}
    _add_module(f"{component_folders()[name]}/view.js", found, ())
    return tuple(found.items())


def _add_module(path: str, found: dict[str, str], importing: tuple[str, ...]) -> None:
    if path in importing:
        raise ValueError(f"{path} imports itself: {' imports '.join((*importing, path))}")
    if path in found:
        return
    folder = posixpath.dirname(path)

    def rename(match: re.Match[str]) -> str:
        imported = posixpath.normpath(posixpath.join(folder, match[1] or match[2]))
        _add_module(imported, found, (*importing, path))
        return f'"import:{imported}"'

    source = _IMPORT.sub(rename, (PACKAGE / path).read_text(encoding="utf-8"))
    found[path] = source


@lru_cache
def component_styles(name: str) -> str:
    """Return the style sheets of a component as one."""
    files = ("static/shared/base.css", f"{component_folders()[name]}/style.css", "static/shared/runtime/embed.css")
    return "\n".join(map(_read_styles, files))


def _read_styles(path: str) -> str:
    folder = posixpath.dirname(path)
    text = (PACKAGE / path).read_text(encoding="utf-8")
    return _CSS_IMPORT.sub(lambda match: _read_styles(posixpath.normpath(posixpath.join(folder, match[1]))), text)


def widget_module(name: str) -> str:
    """Return the ES module of an anywidget that shows a component; its trait `data` is the data of the component."""
    return f"{_loader()}\nexport default makeWidget({_arguments(name)});\n"


def page(name: str, data: Mapping[str, object], title: str) -> str:
    """Return a component as a page (HTML) that needs no server, no network and no kernel."""
    loader = _loader().replace("export ", "")
    return _PAGE.format(
        title=html.escape(title), loader=loader, arguments=_arguments(name), data=_as_script(dict(data))
    )


def iframe(page_of_component: str, title: str) -> str:
    """Return a page inside an iframe, for an output of a notebook."""
    return (
        f'<iframe title="{html.escape(title)}" srcdoc="{html.escape(page_of_component)}" '
        f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
    )


def arrays_address(arrays: Mapping[str, ndarray]) -> str:
    """Return an address that holds arrays itself; the components read it as they read those of the server."""
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return f"data:application/octet-stream;base64,{base64.b64encode(content).decode()}"


def json_address(content: Mapping[str, object]) -> str:
    """Return an address that holds JSON itself."""
    return f"data:application/json;base64,{base64.b64encode(json.dumps(content).encode()).decode()}"


def _loader() -> str:
    return (PACKAGE / "static/shared/runtime/embed.js").read_text(encoding="utf-8")


def _arguments(name: str) -> str:
    return f"{_as_script(name)}, {_as_script(component_modules(name))}, {_as_script(component_styles(name))}"


def _as_script(value: Any) -> str:
    """Return a value as JavaScript that may stand inside <script>: no text in it ends the script."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
