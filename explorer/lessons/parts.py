"""A YAML file of which every value knows its line: what is wrong in it is said with the file and the line.

Values stay texts until somebody asks for a number, so that “no” is a word and “1.0” what stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from explorer.errors import InvalidSetting, shortened


class LessonError(InvalidSetting):
    """Something in the file of a lesson that is not possible; begins with the file and the line."""


class Part:
    """A value in a file: a text, a list or a mapping."""

    def __init__(self, file: str, node: yaml.Node) -> None:
        self.file, self.node = file, node

    @property
    def line(self) -> int:
        """Counted from 1."""
        return int(self.node.start_mark.line) + 1

    def error(self, words: str) -> LessonError:
        return LessonError(f"{self.file}, line {self.line}: {words}")

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.error("a text stands here, no list and no mapping.")
        found = str(self.node.value).strip()
        if not found:
            raise self.error("there is nothing here. Write a text.")
        return found

    def number(self) -> float:
        try:
            return float(self.text())
        except ValueError:
            raise self.error(f"“{shortened(self.text())}” is no number.") from None

    def items(self) -> list[Part]:
        """The values of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error("a list stands here: each line begins with a dash.")
        return [Part(self.file, each) for each in self.node.value]

    def mapping(self, known: Iterable[str] | None = None) -> dict[str, Part]:
        """The values of a mapping by their names; `known` are the names that are possible."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error("names with values stand here, such as “title: …”.")
        found: dict[str, Part] = {}
        for name, value in self._pairs():
            if name.text() in found:
                raise name.error(f"“{shortened(name.text())}” stands here twice.")
            if known is not None and name.text() not in known:
                raise name.error(f"there is no “{shortened(name.text())}” here. There is {', '.join(known)}.")
            found[name.text()] = value
        return found

    def _pairs(self) -> Iterator[tuple[Part, Part]]:
        for name, value in self.node.value:
            yield Part(self.file, name), Part(self.file, value)

    def needed(self, found: dict[str, Part], name: str) -> Part:
        """One of the values of this mapping, which has to be there."""
        if name not in found:
            raise self.error(f"“{name}” is missing.")
        return found[name]


def opened(path: Path, shown: str) -> Part:
    """The whole of a file, which messages call `shown`. Raises LessonError."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise LessonError(f"{shown}, line 1: this is no text in UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise LessonError(f"{shown}, line {line}: this is no YAML: {error.problem or 'it ends too early'}.") from None
    except yaml.YAMLError as error:
        raise LessonError(f"{shown}, line 1: this is no YAML: {shortened(error, 80)}.") from None
    if node is None:
        raise LessonError(f"{shown}, line 1: the file is empty.")
    return Part(shown, node)
