"""How many small faults the tests find: changes one place of the program at a time and runs the mirrored tests.

    python -m benchmarks.mutants [--count 150] [--seed 0] [--packages models,training] [--report FILE]

A mutant changes a number, a comparison or an operator, or deletes a statement. It is found if one test of the mirrored
folder fails (`explorer/models/lstm.py`: `tests/models`, its own file first; `explorer/labs/NAME`: also
`tests/pages/test_NAME.py`) or does not end within ten minutes. The hash of a mutant's place decides whether it is in
the sample, so that a change elsewhere in the program leaves the sample as it is. A report is continued where it ended.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Annotated

import typer

ROOT = Path(__file__).parents[1]
LONGEST = 600  # seconds for the tests of one mutant
OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.And: "or", ast.Or: "and",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the text between two offsets of a file (in bytes) is replaced."""

    file: str
    line: int
    start: int
    end: int
    replacement: str
    change: str
    priority: str


def _replacement(node: ast.AST) -> ast.AST | None:
    """Return the changed node, or None if this kind of node is not changed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        other = ast.parse(f"a {OPERATORS[type(node.ops[0])]} b", mode="eval").body.ops[0]  # type: ignore[attr-defined]
        return ast.Compare(node.left, [other, *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        other = ast.parse(f"a {OPERATORS[type(node.op)]} b", mode="eval").body.op  # type: ignore[attr-defined]
        return ast.BinOp(node.left, other, node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return node.operand
    deleted = isinstance(node, ast.AugAssign | ast.Raise | ast.Delete | ast.Break | ast.Continue)
    deleted |= isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    deleted |= isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    return ast.Pass() if deleted else None


def mutants_of(path: Path, root: Path, seed: int) -> Iterator[Mutant]:
    """Yield every mutant of a file; annotations are left alone."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[str] = Counter()
    file = path.relative_to(root).as_posix()

    def walk(node: ast.AST, scope: str) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            scope = f"{scope}.{node.name}"
        if (changed := _replacement(node)) is not None:
            start = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            before, after = ast.unparse(node), ast.unparse(changed)
            place = f"{file} {scope} {before} -> {after}"
            seen[place] += 1
            key = hashlib.sha256(f"{seed} {place} {seen[place]}".encode()).hexdigest()
            text = after if isinstance(node, ast.stmt) else f"({after})"
            yield Mutant(file, node.lineno, start, end, text, f"{before} -> {after}", key)  # type: ignore[attr-defined]
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                        yield from walk(child, scope)

    yield from walk(ast.parse(source), "")


def mirrored_tests(file: str, root: Path) -> list[str]:
    """Return the test files of the mirrored folder, the mirrored file first."""
    path = Path(file).relative_to("explorer")
    folder = next(root / "tests" / parent for parent in path.parents if (root / "tests" / parent).is_dir())
    found = sorted(folder.glob("test_*.py") if folder == root / "tests" else folder.rglob("test_*.py"))
    if path.parts[0] == "labs" and (page := root / "tests/pages" / f"test_{path.parts[1]}.py").exists():
        found.append(page)
    found.sort(key=lambda test: test.stem != f"test_{path.stem}")
    return [str(test.relative_to(root)) for test in found]


def failing_test(mutant: Mutant, root: Path) -> str:
    """Run the mirrored tests in a copy of the project in which the mutant is in place; return what found it, or ""."""
    path = root / mutant.file
    original = path.read_bytes()
    path.write_bytes(original[: mutant.start] + mutant.replacement.encode() + original[mutant.end :])
    command = [sys.executable, "-m", "pytest", "-x", "-n0", "-q", "--no-header", "-rfE"]
    process = subprocess.Popen(
        [*command, *mirrored_tests(mutant.file, root)],
        cwd=root, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        env=os.environ | {"PYTHONPYCACHEPREFIX": f"{root}-bytecode", "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"longer than {LONGEST} s"
    finally:
        path.write_bytes(original)
    if process.returncode == 0:
        return ""
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0][:200] if lines else output[-200:]


def main(
    count: Annotated[int, typer.Option(help="Mutants in the sample.")] = 150,
    seed: Annotated[int, typer.Option(help="Decides which mutants are in the sample.")] = 0,
    packages: Annotated[str, typer.Option(help="Packages of `explorer`, with commas between; all if empty.")] = "",
    jobs: Annotated[int, typer.Option(help="Mutants that are tried at the same time.")] = 2,
    report: Annotated[Path | None, typer.Option(help="File for one line of JSON per mutant.")] = None,
) -> None:
    """Print every mutant with the test that finds it, and how many were found."""
    files = [path for path in (ROOT / "explorer").rglob("*.py") if "versions" not in path.parts]
    chosen = packages.split(",") if packages else None
    pool = [
        mutant
        for path in files
        if not chosen or path.relative_to(ROOT / "explorer").parts[0].removesuffix(".py") in chosen
        for mutant in mutants_of(path, ROOT, seed)
    ]
    sample = sorted(pool, key=lambda mutant: mutant.priority)[:count]
    known = [json.loads(line) for line in report.read_text("utf-8").splitlines()] if report and report.exists() else []
    results: dict[str, str] = {row["priority"]: row["found_by"] for row in known}
    copies: Queue[Path] = Queue()

    def try_one(mutant: Mutant) -> None:
        if mutant.priority in results:
            return
        copy = copies.get()
        found_by = results[mutant.priority] = failing_test(mutant, copy)
        copies.put(copy)
        print(f"{mutant.file}:{mutant.line} {mutant.change!r}: {found_by or 'SURVIVES'}", flush=True)
        if report:
            row = {"file": mutant.file, "line": mutant.line, "change": mutant.change, "found_by": found_by}
            with report.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(row | {"priority": mutant.priority}) + "\n")

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as threads:
        for number in range(jobs):
            copies.put(copy := Path(folder) / str(number))
            shutil.copytree(
                ROOT, copy, ignore=shutil.ignore_patterns(".git", "node_modules", "__pycache__", ".*_cache")
            )
        list(threads.map(try_one, sample))

    found, total = Counter[str](), Counter[str]()
    for mutant in sample:
        package = mutant.file.split("/")[1]
        total[package] += 1
        found[package] += bool(results[mutant.priority])
    for package in sorted(total):
        print(f"{package:16} {found[package]:4} of {total[package]:4} found")
    print(f"{'together':16} {found.total():4} of {total.total():4} found, {found.total() / total.total():.0%}")


if __name__ == "__main__":
    typer.run(main)
