"""Source files of this program taken apart, so that what one training needs can stand in a file of its own.

From what a script uses, definition after definition is followed through all files. Of a class, those methods are taken
whose names stand in anything that is taken. Of an `if` whose condition is known beforehand, the branch that is never
entered is left out. Both only shorten: a condition that nobody knows stays as it is.
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

Facts = Mapping[str, Mapping[str, bool]]  # by module: conditions, as `ast.unparse` writes them, and whether they hold

_ROOT = Path(__file__).parents[2]
_OURS = "explorer."
_PACKAGES = ("errors", "seeds", "tokenization", "models", "tasks", "generation", "training")
_ALWAYS = {"forward", "backward"}  # methods that torch calls, nobody else
_NEVER = {"split", "nearest", "state", "restore"}  # of pages and of checkpoints, though other things are named so


def text_of(module: str) -> str:
    """A source file of this program."""
    return _file(module).read_text()


def _file(module: str) -> Path:
    return _ROOT / (module.replace(".", "/") + ".py")


class Import(NamedTuple):
    """Something of another file, and what it is called here."""

    module: str
    name: str  # in that file; empty: the file itself
    local: str


class Uses(NamedTuple):
    """What a piece of code needs: names, attributes of whatever they are of, and members of our other files."""

    names: frozenset[str]
    attributes: frozenset[str]
    members: frozenset[tuple[str, str]]  # the file, and the name in it


class Source:
    """One file, taken apart into its definitions."""

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
                        ours = module.startswith(_OURS[:-1]) and _file(inner).exists()
                        found = Import(inner, "", local) if ours else Import(module, alias.name, local)
                        self.imported[local] = found
                case ast.Import(names=aliases):
                    for alias in aliases:
                        local = alias.asname or alias.name
                        self.imported[local] = Import(alias.name, "", local)
        self._files = {i.local: i.module for i in self.imported.values() if not i.name and i.module.startswith(_OURS)}
        self._uses: dict[str, dict[str, Uses]] = {}

    def uses(self, name: str) -> dict[str, Uses]:
        """Of a definition: what its methods use, by their names; and what all the rest of it uses, under no name."""
        if name not in self._uses:
            node = self.definitions[name]
            methods = _methods(node)
            rest = [part for part in ast.iter_child_nodes(node) if part not in methods] if methods else [node]
            of_methods = {method.name: self._used_in([method]) for method in methods}
            self._uses[name] = {"": self._used_in(rest)} | of_methods
        return self._uses[name]

    def _used_in(self, nodes: Iterable[ast.AST]) -> Uses:
        names, attributes, members = set(), set(), set()
        for part in (part for node in nodes for part in ast.walk(node)):
            match part:
                case ast.Attribute(value=ast.Name(id=file), attr=attribute) if file in self._files:
                    members.add((self._files[file], attribute))
                case ast.Attribute(attr=attribute):
                    attributes.add(attribute)
                case ast.Name(id=name):
                    names.add(name)
        return Uses(frozenset(names), frozenset(attributes), frozenset(members))

    def text(self, name: str, methods: Set[str], left_out: Set[str]) -> str:
        """A definition as it stands in the file, with the comment above it, of its methods only these.

        `left_out`: names that are not there; a union in an annotation is shorter then.
        """
        node = self.definitions[name]
        gone: set[int] = set()
        for method in _methods(node):
            if method.name not in methods:
                gone |= set(range(self._first_line(method), _end(method)))
        first = self._first_line(node)
        text = "\n".join(self.lines[i] for i in range(first, _end(node)) if i not in gone)
        text = re.sub(r"  # (type: ignore|noqa).*", "", text)
        for file in self._files:
            text = re.sub(rf"\b{file}\.(?=\w)", "", text)
        for other in left_out:
            text = re.sub(rf" \| {other}\b|\b{other} \| ", "", text)
        return re.sub(r"\n{3,}", "\n\n", text).rstrip()

    def _first_line(self, node: ast.stmt) -> int:
        """The index of a definition's first line, decorators and the comment above it included."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(part.lineno for part in decorators)]) - 1
        while first and self.lines[first - 1].strip().startswith("#"):
            first -= 1
        return first


def _methods(node: ast.stmt) -> list[ast.FunctionDef]:
    return [part for part in node.body if isinstance(part, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []


def _end(node: ast.stmt | ast.expr) -> int:
    """The number of its last line."""
    assert node.end_lineno
    return node.end_lineno


@lru_cache(maxsize=64)
def _source(module: str, facts: frozenset[tuple[str, bool]]) -> Source:
    return Source(module, pruned(text_of(module), dict(facts)))


class Selection:
    """Everything that a script needs, the script included."""

    def __init__(self, script: Source, facts: Facts, stand_ins: Set[str], left_out: Set[str]) -> None:
        """Starts from `main`. `stand_ins`: names that the script defines for all files. `left_out`: not to be taken."""
        self._script, self._facts, self._stand_ins, self._left_out = script, facts, stand_ins, left_out
        self.places: dict[str, str] = {}  # the module of each definition
        self.imports: set[Import] = set()
        self._attributes: set[str] = set()
        self._need(script.name, "main")
        before = (0, 0)
        while before != (now := (len(self.places), len(self._attributes))):
            before = now
            for name, place in list(self.places.items()):
                self._follow(place, name)

    def _of(self, module: str) -> Source:
        if module == self._script.name:
            return self._script
        return _source(module, frozenset(self._facts.get(module, {}).items()))

    def _need(self, module: str, name: str) -> None:
        if name in self._left_out:
            return
        if self.places.setdefault(name, module) != module:
            raise ValueError(f"{module} and {self.places[name]} both define {name}: one file has room for one")

    def _follow(self, module: str, name: str) -> None:
        """Add what a definition uses, as far as it is taken."""
        source = self._of(module)
        for method, uses in source.uses(name).items():
            if method and method not in self._taken(source, name):
                continue
            self._attributes |= uses.attributes
            for place, member in uses.members:
                self._need(place, member)
            for used in uses.names:
                if used in source.definitions:
                    self._need(module, used)
                elif used in source.imported:
                    self._import(source.imported[used])

    def _import(self, what: Import) -> None:
        if not what.module.startswith(_OURS):
            if what.module != "jaxtyping":  # shapes are for the reader
                self.imports.add(what)
        elif what.name:  # of a whole file, only its members are needed
            self._need(self._script.name if what.name in self._stand_ins else what.module, what.name)

    def _taken(self, source: Source, name: str) -> set[str]:
        """Methods of a class that are called, as far as names tell."""
        methods = source.uses(name).keys() - {""}
        return {m for m in methods if m.startswith("__") or m in _ALWAYS or (m in self._attributes and m not in _NEVER)}

    def import_lines(self) -> str:
        """The imports of all definitions together: the standard library first."""
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
        """Of each file its module, what it says about itself, and what is taken; each file after those it imports."""
        for source in self._sources():
            kept = [name for name in source.definitions if self.places.get(name) == source.name]  # in the file's order
            texts = [source.text(name, self._taken(source, name), self._left_out) for name in kept]
            code = texts[0]
            for last, name, text in zip(kept, kept[1:], texts[1:], strict=False):
                constants = all(isinstance(source.definitions[n], ast.Assign | ast.AnnAssign) for n in (last, name))
                code += "\n\n\n" if not constants else "\n\n" if "\n" in text else "\n"
                code += text
            few = 2 * len(kept) < len(source.definitions) or source is self._script
            about = [] if few else source.docstring.splitlines()  # of a file with little left it says too much
            yield source.name, "\n".join(f"# {line}".rstrip() for line in about), code

    def _sources(self) -> list[Source]:
        ordered: dict[str, Source] = {}
        taken = set(self.places.values())

        def visit(module: str) -> None:
            for what in self._of(module).imported.values():
                if what.module in taken and what.module not in ordered:
                    visit(what.module)
            ordered[module] = self._of(module)

        for module in self.places.values():
            if module not in ordered:
                visit(module)
        # Packages one after the other, too: those that import come after those that are imported.
        return sorted(ordered.values(), key=lambda source: _PACKAGES.index(source.name.split(".")[1]))


# What is known beforehand


def pruned(text: str, facts: Mapping[str, bool]) -> str:
    """A source text without the branches of `if` that are never entered, and without what a `return` leaves unread."""
    if not facts:
        return text
    tree = ast.parse(text)
    pruning = _Pruning(text.splitlines(), facts)
    pruning.choices(tree)
    pruning.block(tree.body)
    return pruning.text()


class _Pruning:
    """The lines of a text, and what becomes of each."""

    def __init__(self, lines: list[str], facts: Mapping[str, bool]) -> None:
        self._lines, self._facts = lines, facts
        self._gone: set[int] = set()
        self._outward: Counter[int] = Counter()  # spaces by which a line moves to the left

    def text(self) -> str:
        kept = (i for i in range(len(self._lines)) if i not in self._gone)
        return "\n".join(self._lines[i][self._outward[i] :] for i in kept) + "\n"

    def choices(self, tree: ast.AST) -> None:
        """`a if condition else b` on one line becomes a or b."""
        every = (node for node in ast.walk(tree) if isinstance(node, ast.IfExp))
        known = [node for node in every if ast.unparse(node.test) in self._facts]
        for node in sorted(known, key=lambda node: node.col_offset, reverse=True):  # from the right, to keep places
            if node.lineno == node.end_lineno:
                taken = node.body if self._facts[ast.unparse(node.test)] else node.orelse
                line = self._lines[node.lineno - 1].encode()  # places are counted in bytes
                part = line[taken.col_offset : taken.end_col_offset]
                line = line[: node.col_offset] + part + line[node.end_col_offset :]
                self._lines[node.lineno - 1] = line.decode()

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Whether whatever stands after these statements is never reached."""
        for node in body:
            if self._statement(node):
                self._drop(_end(node) + 1, _end(body[-1]))
                return True
        return False

    def _statement(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return True
        if isinstance(node, ast.If) and (holds := self._facts.get(ast.unparse(node.test))) is not None:
            return self.block(self._taken(node, holds))
        for part in ("body", "orelse", "finalbody"):
            self.block(getattr(node, part, []))
        return False

    def _taken(self, node: ast.If, holds: bool) -> list[ast.stmt]:
        """Leave everything of an `if` out but the branch that is entered, which moves to the left."""
        if holds:
            self._drop(node.lineno, _end(node.test))
            self._drop(_end(node.body[-1]) + 1, _end(node))
            self._move(node.body)
            return node.body
        if not node.orelse:
            first = node.lineno
            while self._lines[first - 2].strip().startswith("#"):
                first -= 1
            self._drop(first, _end(node))
            return []
        between = _end(node.body[-1]) + 1
        line = self._lines[node.orelse[0].lineno - 1]
        if isinstance(node.orelse[0], ast.If) and line.strip().startswith("elif"):
            between = node.orelse[0].lineno
            self._lines[between - 1] = line.replace("elif", "if", 1)
            self._drop(node.lineno, between - 1)
        else:
            while self._lines[between - 1].strip() != "else:":
                between += 1
            self._drop(node.lineno, between)
            self._move(node.orelse, between + 1)
        return node.orelse

    def _drop(self, first: int, last: int) -> None:
        self._gone |= set(range(first - 1, last))

    def _move(self, body: Sequence[ast.stmt], first: int = 0) -> None:
        """Four spaces to the left, with the comments before the first statement."""
        first = first or body[0].lineno
        while self._lines[first - 2].strip().startswith("#"):
            first -= 1
        for i in range(first - 1, _end(body[-1])):
            self._outward[i] += 4
