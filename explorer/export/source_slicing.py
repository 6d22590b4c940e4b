"""Slices the source files of this program, so that the code of one training can stand in a file of its own.

Starting from a script's `main`, the slicer follows names from definition to definition through all files. Of a class it
takes the methods whose names are used as attributes anywhere in the selected code. Of an `if` whose condition is known
beforehand, it drops the branch that is never entered. Both only shorten the file: an unknown condition stays as it is.

The slicer works on syntax alone, so all code that can be exported (`models`, `tasks`, `tokenization`, `generation`,
`training` and the scripts) keeps to these rules; tests/export notices a violation.

- A file defines its names at the top level, by `def`, `class` or an assignment to one name, and imports at the top,
  by `import module` or `from module import name`. Definitions under an `if`, tuple assignments, `import *` and imports
  inside functions are not followed.
- Definitions that one run needs have different names in all files, because they end up in one file.
- A function or class of another file is used by its name, or as `module.name` if the module is imported.
- Methods are called as attributes, `x.method()`, never by `getattr`. A method that only torch calls is in `_ALWAYS`. A
  method that exported runs never call, although an attribute of the same name is used, is in `_NEVER`. Methods and
  attributes that are named alike only make the file longer.
- A condition that `python_file.py` knows beforehand (a fact) is matched by its text, as `ast.unparse` writes it. It is
  the whole test of an `if`, or of a conditional expression on one line. After renaming something in it, change the
  fact as well: otherwise nothing fails, but the file becomes longer.
- A comment belongs to the definition or statement below it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from explorer.program_files import PACKAGE

Facts = Mapping[str, Mapping[str, bool]]  # by module: each condition, as `ast.unparse` writes it, and whether it holds

_PACKAGE_PREFIX = "explorer."
_SECTION_ORDER = ("errors", "seeds", "tokenization", "models", "tasks", "generation", "training", "export")
_ALWAYS = {"forward", "backward"}  # methods that only torch calls
_NEVER = {
    "split",
    "nearest",
    "state",
    "restore",
}  # methods for pages and checkpoints, although other attributes have these names


def source_text(module: str) -> str:
    """Return the text of a source file of this program."""
    return _module_path(module).read_text("utf-8")


def _module_path(module: str) -> Path:
    return PACKAGE.parent / (module.replace(".", "/") + ".py")


class Import(NamedTuple):
    """An imported name."""

    module: str
    name: str  # in that module; empty: the module itself
    local: str


class References(NamedTuple):
    """What a piece of code refers to: names, attributes of any object, and members of our other modules."""

    names: frozenset[str]
    attributes: frozenset[str]
    members: frozenset[tuple[str, str]]  # the module, and the name in it


class Source:
    """A source file, divided into its definitions."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = text.splitlines()
        tree = ast.parse(text)
        self.docstring = ast.get_docstring(tree) or ""
        self.definitions: dict[str, ast.stmt] = {}
        self.imported: dict[str, Import] = {}  # by local name
        for node in tree.body:
            match node:
                case ast.FunctionDef(name=defined) | ast.ClassDef(name=defined):
                    self.definitions[defined] = node
                case ast.Assign(targets=[ast.Name(id=defined)]) | ast.AnnAssign(target=ast.Name(id=defined)):
                    self.definitions[defined] = node
                case ast.ImportFrom(module=str(module), names=aliases) if module != "__future__":
                    for alias in aliases:
                        local, inner = alias.asname or alias.name, f"{module}.{alias.name}"
                        ours = module.startswith(_PACKAGE_PREFIX[:-1]) and _module_path(inner).exists()
                        found = Import(inner, "", local) if ours else Import(module, alias.name, local)
                        self.imported[local] = found
                case ast.Import(names=aliases):
                    for alias in aliases:
                        local = alias.asname or alias.name
                        self.imported[local] = Import(alias.name, "", local)
        self._files = {
            i.local: i.module for i in self.imported.values() if not i.name and i.module.startswith(_PACKAGE_PREFIX)
        }
        self._references: dict[str, dict[str, References]] = {}

    def references(self, name: str) -> dict[str, References]:
        """Return the references of a definition: those of each method by its name, and those of the rest under ""."""
        if name not in self._references:
            node = self.definitions[name]
            methods = _methods(node)
            rest = [part for part in ast.iter_child_nodes(node) if part not in methods] if methods else [node]
            of_methods = {method.name: self._references_in([method]) for method in methods}
            self._references[name] = {"": self._references_in(rest)} | of_methods
        return self._references[name]

    def _references_in(self, nodes: Iterable[ast.AST]) -> References:
        names, attributes, members = set(), set(), set()
        for part in (part for node in nodes for part in ast.walk(node)):
            match part:
                case ast.Attribute(value=ast.Name(id=file), attr=attribute) if file in self._files:
                    members.add((self._files[file], attribute))
                case ast.Attribute(attr=attribute):
                    attributes.add(attribute)
                case ast.Name(id=name):
                    names.add(name)
        return References(frozenset(names), frozenset(attributes), frozenset(members))

    def text(self, name: str, methods: Set[str], left_out: Set[str]) -> str:
        """Return the source of a definition, with the comment above it and only the given methods.

        `left_out`: names that are not in the file; they are removed from the unions of annotations.
        """
        node = self.definitions[name]
        dropped: set[int] = set()
        for method in _methods(node):
            if method.name not in methods:
                dropped |= set(range(self._first_line(method), _last_line(method)))
        first = self._first_line(node)
        text = "\n".join(self.lines[i] for i in range(first, _last_line(node)) if i not in dropped)
        text = re.sub(r"  # (type: ignore|noqa).*", "", text)
        for file in self._files:
            text = re.sub(rf"\b{file}\.(?=\w)", "", text)
        for other in left_out:
            text = re.sub(rf" \| {other}\b|\b{other} \| ", "", text)
        return re.sub(r"\n{3,}", "\n\n", text).rstrip()

    def _first_line(self, node: ast.stmt) -> int:
        """Return the index of a definition's first line, including decorators and the comment above it."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(part.lineno for part in decorators)]) - 1
        while first and self.lines[first - 1].strip().startswith("#"):
            first -= 1
        return first


def _methods(node: ast.stmt) -> list[ast.FunctionDef]:
    return [part for part in node.body if isinstance(part, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []


def _last_line(node: ast.stmt | ast.expr) -> int:
    """Return the number of the last line of a node."""
    assert node.end_lineno
    return node.end_lineno


@lru_cache(maxsize=64)
def _pruned_source(module: str, facts: frozenset[tuple[str, bool]]) -> Source:
    return Source(module, prune(source_text(module), dict(facts)))


class Selection:
    """All definitions that a script needs, including its own."""

    def __init__(self, script: Source, facts: Facts, stand_ins: Set[str], left_out: Set[str]) -> None:
        """Select from `main` on.

        `script`: the file with `main`.
        `facts`: conditions that are known beforehand.
        `stand_ins`: names that the script defines in place of those of all other files.
        `left_out`: names that are never selected.
        """
        self._script, self._facts, self._stand_ins, self._left_out = script, facts, stand_ins, left_out
        self.modules: dict[str, str] = {}  # of each selected definition
        self.imports: set[Import] = set()
        self._attributes: set[str] = set()
        self._select(script.name, "main")
        before = (0, 0)
        while before != (now := (len(self.modules), len(self._attributes))):
            before = now
            for name, module in list(self.modules.items()):
                self._follow(module, name)

    def _source(self, module: str) -> Source:
        if module == self._script.name:
            return self._script
        return _pruned_source(module, frozenset(self._facts.get(module, {}).items()))

    def _select(self, module: str, name: str) -> None:
        if name in self._left_out:
            return
        if self.modules.setdefault(name, module) != module:
            raise ValueError(f"{module} and {self.modules[name]} both define {name}, and both definitions are needed")

    def _follow(self, module: str, name: str) -> None:
        """Select what a definition refers to, without the methods that are not taken."""
        source = self._source(module)
        for method, references in source.references(name).items():
            if method and method not in self._taken_methods(source, name):
                continue
            self._attributes |= references.attributes
            for member_module, member in references.members:
                self._select(member_module, member)
            for used in references.names:
                if used in source.definitions:
                    self._select(module, used)
                elif used in source.imported:
                    self._import(source.imported[used])

    def _import(self, what: Import) -> None:
        if not what.module.startswith(_PACKAGE_PREFIX):
            if what.module != "jaxtyping":  # the shapes in signatures are not evaluated
                self.imports.add(what)
        elif what.name:  # of an imported module, only members are selected
            self._select(self._script.name if what.name in self._stand_ins else what.module, what.name)

    def _taken_methods(self, source: Source, name: str) -> set[str]:
        """Return the methods of a class whose names are used as attributes."""
        methods = source.references(name).keys() - {""}
        return {m for m in methods if m.startswith("__") or m in _ALWAYS or (m in self._attributes and m not in _NEVER)}

    def import_lines(self) -> str:
        """Return the imports of all definitions, those of the standard library first."""
        blocks = []
        for standard in (True, False):
            imports = sorted(i for i in self.imports if (i.module.split(".")[0] in sys.stdlib_module_names) is standard)
            whole = [i.module if i.local == i.module else f"{i.module} as {i.local}" for i in imports if not i.name]
            members: dict[str, list[str]] = {}
            for i in imports:
                if i.name:
                    members.setdefault(i.module, []).append(i.name if i.local == i.name else f"{i.name} as {i.local}")
            lines = [f"import {what}" for what in whole]
            blocks.append("\n".join([*lines, *(f"from {m} import {', '.join(names)}" for m, names in members.items())]))
        return "\n\n".join(block for block in blocks if block)

    def sections(self) -> Iterator[tuple[str, str, str]]:
        """Yield module, docstring as a comment, and selected code of each file, after the files that it imports."""
        for source in self._sources():
            selected = [name for name in source.definitions if self.modules.get(name) == source.name]  # in file order
            texts = [source.text(name, self._taken_methods(source, name), self._left_out) for name in selected]
            code = texts[0]
            for last, name, text in zip(selected, selected[1:], texts[1:], strict=False):
                constants = all(isinstance(source.definitions[n], ast.Assign | ast.AnnAssign) for n in (last, name))
                code += "\n\n\n" if not constants else "\n\n" if "\n" in text else "\n"
                code += text
            few = 2 * len(selected) < len(source.definitions) or source is self._script
            docstring = [] if few else source.docstring.splitlines()  # it describes more than what is left
            yield source.name, "\n".join(f"# {line}".rstrip() for line in docstring), code

    def _sources(self) -> list[Source]:
        ordered: dict[str, Source] = {}
        taken = set(self.modules.values())

        def visit(module: str) -> None:
            for what in self._source(module).imported.values():
                if what.module in taken and what.module not in ordered:
                    visit(what.module)
            ordered[module] = self._source(module)

        for module in self.modules.values():
            if module not in ordered:
                visit(module)
        # Also by package: each after those that it imports.
        return sorted(ordered.values(), key=lambda source: _SECTION_ORDER.index(source.name.split(".")[1]))


# ---- conditions that are known beforehand


def prune(text: str, facts: Mapping[str, bool]) -> str:
    """Return a source text without branches that are never entered, and without code after their `return`."""
    if not facts:
        return text
    tree = ast.parse(text)
    pruner = _Pruner(text.splitlines(), facts)
    pruner.expressions(tree)
    pruner.block(tree.body)
    return pruner.text()


class _Pruner:
    """Drops and dedents the lines of a text."""

    def __init__(self, lines: list[str], facts: Mapping[str, bool]) -> None:
        self._lines, self._facts = lines, facts
        self._dropped: set[int] = set()
        self._dedent: Counter[int] = Counter()  # spaces by line

    def text(self) -> str:
        remaining = (i for i in range(len(self._lines)) if i not in self._dropped)
        return "\n".join(self._lines[i][self._dedent[i] :] for i in remaining) + "\n"

    def expressions(self, tree: ast.AST) -> None:
        """Replace `a if condition else b` on one line by a or b."""
        every = (node for node in ast.walk(tree) if isinstance(node, ast.IfExp))
        known = [node for node in every if ast.unparse(node.test) in self._facts]
        # From the right, so that columns stay valid.
        for node in sorted(known, key=lambda node: node.col_offset, reverse=True):
            if node.lineno == node.end_lineno:
                taken = node.body if self._facts[ast.unparse(node.test)] else node.orelse
                line = self._lines[node.lineno - 1].encode()  # columns are counted in bytes
                part = line[taken.col_offset : taken.end_col_offset]
                line = line[: node.col_offset] + part + line[node.end_col_offset :]
                self._lines[node.lineno - 1] = line.decode()

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Prune statements; return whether the code after them is never reached."""
        for node in body:
            if self._statement(node):
                self._drop(_last_line(node) + 1, _last_line(body[-1]))
                return True
        return False

    def _statement(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return True
        if isinstance(node, ast.If) and (holds := self._facts.get(ast.unparse(node.test))) is not None:
            return self.block(self._entered_branch(node, holds))
        for part in ("body", "orelse", "finalbody"):
            self.block(getattr(node, part, []))
        return False

    def _entered_branch(self, node: ast.If, holds: bool) -> list[ast.stmt]:
        """Drop everything of an `if` but the branch that is entered, dedent that and return it."""
        if holds:
            self._drop(node.lineno, _last_line(node.test))
            self._drop(_last_line(node.body[-1]) + 1, _last_line(node))
            self._dedent_block(node.body)
            return node.body
        if not node.orelse:
            first = node.lineno
            while self._lines[first - 2].strip().startswith("#"):
                first -= 1
            self._drop(first, _last_line(node))
            return []
        between = _last_line(node.body[-1]) + 1
        line = self._lines[node.orelse[0].lineno - 1]
        if isinstance(node.orelse[0], ast.If) and line.strip().startswith("elif"):
            between = node.orelse[0].lineno
            self._lines[between - 1] = line.replace("elif", "if", 1)
            self._drop(node.lineno, between - 1)
        else:
            while self._lines[between - 1].strip() != "else:":
                between += 1
            self._drop(node.lineno, between)
            self._dedent_block(node.orelse, between + 1)
        return node.orelse

    def _drop(self, first: int, last: int) -> None:
        self._dropped |= set(range(first - 1, last))

    def _dedent_block(self, body: Sequence[ast.stmt], first: int = 0) -> None:
        """Dedent statements by four spaces, with the comments before them."""
        first = first or body[0].lineno
        while self._lines[first - 2].strip().startswith("#"):
            first -= 1
        for i in range(first - 1, _last_line(body[-1])):
            self._dedent[i] += 4
