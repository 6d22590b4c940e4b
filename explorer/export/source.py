"""Gathers the code of an exported file: every definition that its `main` needs, from our own source files.

It is rewritten for one run: without annotations and taps (they only let values be looked at), without branches that the
settings of the run never enter, and without methods that nothing calls. Docstrings stay, comments do not.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Set
from types import SimpleNamespace
from typing import Any, NamedTuple

from explorer.program_files import PACKAGE

Name = tuple[str, str]  # a module, and a name in it
_WIDTH = 120
_KEPT = {"forward", "step", "_load_from_state_dict"}  # methods that torch calls


class Module(NamedTuple):
    """A source file, divided into its definitions and imports."""

    definitions: dict[str, ast.stmt]
    imports: dict[str, Name]  # by local name; the name is empty for a whole module


class Selection:
    """The definitions that a function needs, and the imports from other packages."""

    def __init__(
        self, start: Name, modules: Mapping[str, str], names: Mapping[str, Name], settings: Mapping[str, Any]
    ) -> None:
        """Select from `start` on.

        modules: modules that are taken instead of others.
        names: what is taken for these names, wherever they stand.
        settings: of the model, and the average of the training; they decide about branches.
        """
        self._modules, self._names = modules, names
        self._settings = settings
        self._parsed: dict[str, Module] = {}
        self.taken: dict[Name, None] = {}
        self._imports: set[Name] = set()
        self._attributes: Set[str] = set()
        self._take(start)
        before = (0, 0)
        while before != (now := (len(self.taken), len(self._attributes))):
            before = now
            for each in list(self.taken):
                self._follow(*each)

    def _parse(self, module: str) -> Module:
        if module not in self._parsed:
            text = (PACKAGE / (module.removeprefix("explorer.").replace(".", "/") + ".py")).read_text("utf-8")
            tree = _Simplifier(self._settings).visit(ast.parse(text))
            found = self._parsed[module] = Module({}, {})
            for node in tree.body:
                match node:
                    case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                        found.definitions[name] = node
                    case ast.ImportFrom(module="explorer.lazy_libraries", names=aliases):
                        found.imports.update({each.name: (each.name, "") for each in aliases})
                    case ast.ImportFrom(module=str(origin), names=aliases) if origin != "__future__":
                        origin = self._modules.get(origin, origin)
                        found.imports.update({each.asname or each.name: (origin, each.name) for each in aliases})
                    case ast.Import(names=aliases):
                        found.imports.update(
                            {alias.asname or alias.name: (ast.unparse(alias), "") for alias in aliases}
                        )
        return self._parsed[module]

    def _take(self, name: Name) -> None:
        same = next((module for module, other in self.taken if other == name[1] and module != name[0]), None)
        if same:
            raise ValueError(f"{name[0]} and {same} both define {name[1]}, and both definitions are needed")
        self.taken[name] = None

    def _follow(self, module: str, name: str) -> None:
        source = self._parse(module)
        for part in ast.walk(self._without_unused_methods(source.definitions[name])):
            if isinstance(part, ast.Attribute):
                self._attributes |= {part.attr}
            elif isinstance(part, ast.Name) and part.id in self._names:
                self._take(self._names[part.id])
            elif isinstance(part, ast.Name) and part.id in source.definitions:
                self._take((module, part.id))
            elif isinstance(part, ast.Name) and part.id in source.imports:
                origin, original = source.imports[part.id]
                if origin.startswith("explorer."):
                    self._take((origin, original))
                else:
                    self._imports.add((origin, original))

    def _without_unused_methods(self, node: ast.stmt) -> ast.stmt:
        if not isinstance(node, ast.ClassDef):
            return node
        used = self._attributes | _KEPT
        body = [
            part
            for part in node.body
            if not isinstance(part, ast.FunctionDef) or part.name.startswith("__") or part.name in used
        ]
        return ast.ClassDef(node.name, node.bases, node.keywords, body or [ast.Pass()], node.decorator_list)

    def import_lines(self) -> str:
        """Return the imports, those of the standard library first."""
        blocks = []
        for standard in (True, False):
            chosen = sorted(
                i for i in self._imports if (re.split(r"\W", i[0])[0] in sys.stdlib_module_names) is standard
            )
            lines = [f"import {module}" for module, name in chosen if not name]
            for module in dict.fromkeys(module for module, name in chosen if name):
                lines.append(f"from {module} import {', '.join(n for m, n in chosen if n and m == module)}")
            blocks.append("\n".join(lines))
        return "\n\n".join(block for block in blocks if block)

    def sections(self) -> Iterator[Name]:
        """Yield each module and the code that is taken from it, after the modules that it imports."""
        order: dict[str, None] = {}

        def visit(module: str) -> None:
            for origin, _ in self._parse(module).imports.values():
                if origin not in order and origin != module and any(origin == taken for taken, _ in self.taken):
                    visit(origin)
            order[module] = None

        for module in reversed(dict.fromkeys(module for module, _ in self.taken)):
            if module not in order:
                visit(module)
        for module in order:
            definitions, text, last = self._parse(module).definitions, "", None
            for name, node in definitions.items():
                if (module, name) in self.taken:
                    together = isinstance(node, ast.Assign) and isinstance(last, ast.Assign)
                    text += ("\n" if together else "\n\n\n") if last else ""
                    code = ast.unparse(ast.fix_missing_locations(self._without_unused_methods(node)))
                    text += "\n".join(map(wrap_line, code.splitlines()))
                    last = node
            if text:
                yield module, text


class _Simplifier(ast.NodeTransformer):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._known = self._names()
        self._taps: set[str] = set()  # of the class that is visited
        self._taps_of_file: set[str] = set()
        self._tables: dict[str, dict[str, ast.expr]] = {}  # constants of the file

    def _names(self) -> dict[str, Any]:
        config = SimpleNamespace(**self._settings)
        return dict.fromkeys(("config", "MODEL", "TRAINING"), config) | {"self": SimpleNamespace(config=config)}

    def _value(self, test: ast.expr) -> bool | None:
        """Return the value of a condition, or None if the settings do not decide it."""
        if ast.unparse(test) == "is_observed()":  # then a model computes as in its paper, and not by fused operations
            return True
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            value = self._value(test.operand)
            return None if value is None else not value
        if isinstance(test, ast.BoolOp):
            values = [self._value(part) for part in test.values]
            decisive = isinstance(test.op, ast.Or)
            return decisive if decisive in values else None if None in values else not decisive
        names = {part.id for part in ast.walk(test) if isinstance(part, ast.Name)}
        if not names or not names <= self._known.keys() or any(isinstance(part, ast.Call) for part in ast.walk(test)):
            return None
        try:
            return bool(eval(compile(ast.Expression(test), "", "eval"), {"__builtins__": {}}, dict(self._known)))
        except AttributeError:
            return None

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self._known, self._taps = self._names(), self._find_taps(node)
        self.generic_visit(node)
        node.body = _with_short_docstring(node.body)
        return node

    def _find_taps(self, node: ast.AST) -> set[str]:
        targets = [p.targets[0] for p in ast.walk(node) if isinstance(p, ast.Assign) and self._is_identity(p.value)]
        return {part.attr for target in targets for part in ast.walk(target) if isinstance(part, ast.Attribute)}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef | None:
        if "raise NotImplementedError" in map(ast.unparse, node.body):  # every subclass has its own
            return None
        self.generic_visit(node)
        node.returns = None
        end = next((i for i, part in enumerate(node.body) if isinstance(part, ast.Return | ast.Raise)), len(node.body))
        node.body = _with_short_docstring(node.body[: end + 1])
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        self.generic_visit(node)
        return ast.copy_location(ast.Assign([node.target], node.value), node) if node.value else None

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        self.generic_visit(node)
        match node.targets:
            case [ast.Attribute(value=ast.Name(id="self"), attr=name)] if isinstance(node.value, ast.Compare):
                if (value := self._value(node.value)) is not None:  # it is used in conditions only
                    setattr(self._known["self"], name, value)
                    return None
            case [ast.Attribute(value=ast.Name(id="self"), attr=name)] if ast.unparse(node.value) == "None":
                setattr(self._known["self"], name, None)
            case [ast.Tuple(elts=targets)] if isinstance(node.value, ast.Tuple):
                for target, part in zip(targets, node.value.elts, strict=True):
                    self._note_setting(target, part)
            case [target]:
                self._note_setting(target, node.value)
        return None if self._is_identity(node.value) else node

    def _note_setting(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Attribute(value=ast.Name(id="self"), attr=name), ast.Attribute(
                value=ast.Name(id="config"), attr=of
            ):
                if of in self._settings:
                    setattr(self._known["self"], name, self._settings[of])

    def _is_identity(self, value: ast.expr) -> bool:
        """Return whether an expression constructs one or several modules that change nothing: taps, no dropout."""
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        shares = ("config.dropout", "dropout", "getattr(config, 'dropout', 0.0)")
        dropout = [] if self._settings.get("dropout") else [f"Dropout({share})" for share in shares]
        return all(ast.unparse(part) in ("Tap()", "StepTap()", *dropout) for part in parts)

    def visit_Assert(self, node: ast.Assert) -> None:
        return None

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self._taps and len(node.args) == 1:
                return node.args[0]
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr=name) if name in self._taps_of_file:
                return node.args[0]  # a tap of a part of the model
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        value = self._value(node.test)
        self.generic_visit(node)
        if value is None:
            node.body = node.body or [ast.Pass()]
            return node
        return node.body if value else node.orelse

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        value = self._value(node.test)
        self.generic_visit(node)
        return node if value is None else node.body if value else node.orelse

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self._taps_of_file = self._find_taps(node)
        for part in node.body:
            match part:
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as table):
                    self._tables[name] = {ast.unparse(k): v for k, v in zip(table.keys, table.values, strict=True) if k}
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace the choice of an entry of a table by a setting by the entry."""
        self.generic_visit(node)
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Attribute(value=ast.Name(id="config"), attr=setting)):
                return self._tables.get(name, {}).get(repr(self._settings.get(setting)), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Drop what cannot change the value of `and` or `or`."""
        kept = [part for part in node.values if self._value(part) is not isinstance(node.op, ast.And)] or node.values
        self.generic_visit(node)
        node.values = [part for part in node.values if part in kept]
        return node.values[0] if len(node.values) == 1 else node


def _with_short_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a definition; of its docstring only the first paragraph."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str(text))), *rest]:
            return [ast.Expr(ast.Constant(text.split("\n\n")[0].strip())), *rest]
    return body or [ast.Pass()]


def wrap_line(line: str, depth: int = 0) -> str:
    """Break a line of code that is too long between brackets. `depth`: the brackets that earlier lines have opened."""
    if len(line) <= _WIDTH:
        return line
    indent, cut, continues = len(line) - len(line.lstrip()), 0, depth > 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            if token.string in (",", "and", "or") and depth and indent + token.end[1] <= _WIDTH:
                cut, depth_at_cut = indent + token.end[1], depth
    except tokenize.TokenError:  # the line is a part of a statement or of a docstring
        pass
    if not cut:
        return line
    rest = " " * (indent + (0 if continues else 4)) + line[cut:].strip()
    return f"{line[:cut]}\n{wrap_line(rest, depth_at_cut)}"
