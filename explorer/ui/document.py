"""What a section of a page shows, as data: findings, text, captions and components from top to bottom.

A document is drawn by the browser (`static/components/section/view.js`). Unlike Streamlit's own elements it can be made
on any thread, so it travels with a result and needs no run of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from markdown_it import MarkdownIt

from explorer.charts import Table
from explorer.program_files import component_folders
from explorer.ui.frame import Panel, Playback, frame_data
from explorer.ui.glossary import mark_terms

_LONG = 12  # words of a caption, above which it is folded
_markdown = MarkdownIt("commonmark", {"html": False})  # markup in a text of a visitor stays text


class Document:
    """A list of blocks. Each method adds one; all texts are plain unless the method says otherwise.

    An empty sentence adds nothing.
    """

    def __init__(self) -> None:
        self.blocks: list[dict[str, object]] = []

    def _add(self, kind: str, **fields: object) -> None:
        self.blocks.append({"kind": kind, **fields})

    def finding(self, sentence: str) -> None:
        """Add the sentence that answers the question of the section, as a heading."""
        if sentence:
            self._add("finding", text=sentence)

    def text(self, sentence: str) -> None:
        """Add a paragraph."""
        if sentence:
            self._add("text", text=sentence)

    def markdown(self, text: str) -> None:
        """Add text with Markdown (CommonMark, without HTML)."""
        self._add("markdown", html=to_html(text))

    def caption(self, text: str) -> None:
        """Add a small text under a figure; a long one is folded under the words “About this figure”."""
        if text:
            self._add("caption", text=text, folded=len(text.split()) > _LONG)

    def code(self, text: str) -> None:
        """Add text with fixed character widths, wrapped at the right edge."""
        self._add("code", text=text)

    def problems(self, sentences: Iterable[str]) -> None:
        """Add a warning for each sentence."""
        for sentence in sentences:
            self._add("problem", text=sentence)

    def empty(self, sentence: str, height: int) -> None:
        """Add a message in an empty panel of this height (pixels)."""
        self._add("empty", text=sentence, height=height)

    def component(self, name: str, data: Mapping[str, object], key: str) -> None:
        """Add the component of this name; `key` is what `pop_event` reads its events by."""
        self._add("component", name=name, folder=component_folders()[name], data=data, key=key)

    def figures(
        self,
        key: str,
        panels: Sequence[Panel],
        *,
        height: int,
        narrow_height: int | None = None,
        columns: int | None = None,
        playback: Playback | None = None,
    ) -> None:
        """Add charts side by side; the parameters are those of `frame_data`."""
        self.component("plot_frame", frame_data(panels, key, height, narrow_height, columns, playback), key)

    def table(self, key: str, table: Table) -> None:
        """Add a table, unless it has no rows; `key` names the saved file."""
        if table.rows:
            self.component("table", table.data(key), key)

    def columns(self, count: int) -> list[Document]:
        """Add columns of the same width, which stand below each other on a narrow screen; return them."""
        parts = [Document() for _ in range(count)]
        self._add("columns", parts=[part.blocks for part in parts])
        return parts


@lru_cache(maxsize=512)
def to_html(text: str) -> str:
    """Return text with Markdown (CommonMark, without HTML) as HTML whose technical terms lead to the glossary."""
    html: str = _markdown.render(mark_terms(text))
    return html
