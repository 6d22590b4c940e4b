"""The components of the app in a notebook: the grid of attention heads, and the temperature slider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from explorer.api import embedding
from explorer.api.arguments import require_file
from explorer.atomic_files import write_new_file
from explorer.errors import InvalidSetting, LineageError

Data = Mapping[str, object]


class NotebookComponent:
    """A component of the app, to be shown in a notebook or saved as a page.

    As the last line of a cell, or by `display`, it appears in the notebook as a page inside the output, which is saved
    with the notebook and needs neither a kernel nor a network. A component that is `live` appears as an anywidget
    instead: the model in the kernel answers the actions of the user. HTML that nbconvert makes contains the
    page; after a notebook is opened again, JupyterLab shows a widget only when its cell is run again.

    component: the name of its folder
    title: the title of the page
    data: what its view.js draws
    on_event: called with the name and the value of an event; it returns the new data, or None if nothing is redrawn
    live: whether the component is shown as a widget

    Raises InvalidSetting for a live component without the package anywidget.
    """

    def __init__(
        self, component: str, title: str, data: Data, on_event: Callable[[str, object], Data | None], live: bool
    ) -> None:
        if live and not find_spec("anywidget"):
            raise InvalidSetting("A live component needs the package anywidget. Install it: pip install anywidget")
        self.component, self.title, self.data, self.live, self._on_event = component, title, data, live, on_event

    def to_html(self) -> str:
        """Return the component as a page (HTML) that needs no server, no network and no kernel."""
        return embedding.page(self.component, self.data, self.title)

    def save(self, file: str | Path, *, force: bool = False) -> Path:
        """Write the page of `to_html` to a file and return its path.

        force: whether an existing file may be replaced.

        Raises InvalidSetting for an existing file without `force`, and for one that cannot be written.
        """
        path = require_file(file)
        write_new_file(path, self.to_html().encode(), force, "force=True")
        return path

    @cached_property
    def widget(self) -> Any:
        """The component as an anywidget, whose events the model answers. It needs the package anywidget."""
        import anywidget
        import traitlets

        class Component(anywidget.AnyWidget):  # type: ignore[misc,unused-ignore]
            _esm = embedding.widget_module(self.component)
            data = traitlets.Dict().tag(sync=True)

        widget = Component(data=dict(self.data))

        def answer(_: object, message: Any, buffers: object) -> None:
            try:
                data = self._on_event(message["event"], message["value"])
            except LineageError:
                return  # a value that this model does not have
            if data is not None:
                self.data = data
                widget.data = dict(data)

        widget.on_msg(answer)
        return widget

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        page = embedding.iframe(self.to_html(), self.title)
        shown = self.widget._repr_mimebundle_() if self.live else None
        bundle = shown[0] if isinstance(shown, tuple) else shown or {}
        return {**bundle, "text/plain": repr(self), "text/html": page}

    def __repr__(self) -> str:
        return f"NotebookComponent({self.title})"
