"""The events that a component's view.js declares are those that its page receives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMPONENTS = ROOT / "explorer" / "static" / "components"
# Components without a typedef of their events, or whose page receives them in another way.
UNCHECKED = {"address", "section", "text_samples", "home_timeline"}


def declared_events(view: Path) -> set[str]:
    """Return the names of the properties of the typedef NAMEEvents."""
    typedef = re.search(
        r"@typedef \{object\} \w+Events\n(.*?)(?:\*/|@typedef)", view.read_text(encoding="utf-8"), re.DOTALL
    )
    return set(re.findall(r"@property \{.*\} (\w+)", typedef[1])) if typedef else set()


def names_of(arguments: list[ast.expr], module: ast.Module) -> Iterator[str]:
    """Yield the texts among arguments, also those of a tuple of the module that is unpacked."""
    constants = {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for argument in arguments:
        names = argument.value if isinstance(argument, ast.Starred) else ast.List([argument], ast.Load())
        yield from ast.literal_eval(constants[names.id] if isinstance(names, ast.Name) else names)


def events_in_sections(module: ast.Module) -> dict[str, set[str]]:
    """Return by component the `events` of its section; the key of the component connects both."""
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    components = {
        ast.unparse(call.args[2] if len(call.args) > 2 else call.keywords[-1].value): ast.literal_eval(call.args[0])
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "component" and len(call.args) > 1
    }
    found = {}
    for keyword in (keyword for call in calls for keyword in call.keywords):
        if keyword.arg == "events" and isinstance(keyword.value, ast.Dict):
            for key, names in zip(keyword.value.keys, keyword.value.values, strict=True):
                component = components.get(ast.unparse(key)) if key else None
                if component and not isinstance(names, ast.Attribute):  # another module has the names
                    found[component] = set(names_of([ast.Starred(names)], module))
    return found


def received_events() -> dict[str, set[str]]:
    """Return by component the names in the calls of `event_callbacks(key, ...)` and in sections with these keys."""
    events: dict[str, set[str]] = {}
    for file in (ROOT / "explorer").rglob("*.py"):
        text = file.read_text()
        if "event_callbacks(" not in text and "result_section(" not in text:
            continue
        module = ast.parse(text)
        events |= events_in_sections(module)
        components = dict(re.findall(r"(\w+) = register\(\"(\w+)\"\)", text))
        if both := re.search(r"(\w+), (\w+) = register\(\"(\w+)\"\), register\(\"(\w+)\"\)", text):
            components |= {both[1]: both[3], both[2]: both[4]}
        for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
            for keyword in call.keywords:
                inner = keyword.value
                if keyword.arg or not isinstance(inner, ast.Call) or not isinstance(call.func, ast.Name):
                    continue
                if isinstance(inner.func, ast.Name) and inner.func.id == "event_callbacks":
                    events[components[call.func.id]] = set(names_of(inner.args[1:], module))
    return events


def test_a_page_receives_the_events_that_its_component_declares() -> None:
    declared = {view.parent.name: declared_events(view) for view in COMPONENTS.glob("*/view.js")}
    declared = {name: names for name, names in declared.items() if names and name not in UNCHECKED}
    received = {name: names for name, names in received_events().items() if name not in UNCHECKED}
    assert len(declared) > 15
    assert declared == received
