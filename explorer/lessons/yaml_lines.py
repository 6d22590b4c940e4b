"""YAML files whose values know their line numbers, so that an error names the file and the line.

Every scalar is a text until it is read as a number: “no” is not a boolean, and “1.0” keeps its spelling.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml

from explorer.errors import InvalidSetting, shorten


class LessonError(InvalidSetting):
    """An error in the file of a lesson. The message begins with the file and the line."""


class Node:
    """A value of a YAML file: a text, a list or a mapping."""

    def __init__(self, file: str, node: yaml.Node) -> None:
        self.file, self.node = file, node

    @property
    def line(self) -> int:
        """The line number, counted from 1."""
        return int(self.node.start_mark.line) + 1

    def error(self, words: str) -> LessonError:
        return LessonError(f"{self.file}, line {self.line}: {words}")

    def text(self) -> str:
        """Return the text of a scalar, without spaces around it. Raises LessonError if it is empty."""
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.error("a text is expected here, not a list or a mapping.")
        found = str(self.node.value).strip()
        if not found:
            raise self.error("the value is empty. Write a text.")
        return found

    def number(self) -> float:
        try:
            return float(self.text())
        except ValueError:
            raise self.error(f"“{shorten(self.text())}” is not a number.") from None

    def items(self) -> list[Node]:
        """Return the values of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error("a list is expected here: each line begins with a dash.")
        return [Node(self.file, each) for each in self.node.value]

    def mapping(self, known: Iterable[str] | None = None) -> dict[str, Node]:
        """Return the values of a mapping by name. Raises LessonError for a name that is not in `known`."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error("a mapping is expected here, such as “title: …”.")
        found: dict[str, Node] = {}
        for name, value in ((Node(self.file, key), Node(self.file, each)) for key, each in self.node.value):
            if name.text() in found:
                raise name.error(f"“{shorten(name.text())}” occurs twice here.")
            if known is not None and name.text() not in known:
                raise name.error(f"“{shorten(name.text())}” is unknown here. Possible names are {', '.join(known)}.")
            found[name.text()] = value
        return found


def read_yaml(path: Path, shown: str) -> Node:
    """Read a file; error messages call it `shown`. Raises LessonError."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise LessonError(f"{shown}, line 1: the file is not UTF-8 text.") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise LessonError(
            f"{shown}, line {line}: the file is not valid YAML: {error.problem or 'it ends too early'}."
        ) from None
    except yaml.YAMLError as error:
        raise LessonError(f"{shown}, line 1: the file is not valid YAML: {shorten(error, 80)}.") from None
    if node is None:
        raise LessonError(f"{shown}, line 1: the file is empty.")
    return Node(shown, node)
