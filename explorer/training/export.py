"""A run as one plain Python file that needs torch only, made from the sources of this program.

Starting from the names that its `train` uses, every definition that is needed is copied with its
comments, in the order of its imports. Signatures keep their shapes: nothing evaluates them, so the file
imports no jaxtyping. A model can be exported as long as its file imports only torch, the standard
library and this package, and no two definitions share a name.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from explorer.catalogue import ModelConfig, TaskConfig, variant
from explorer.training.config import RunConfig, key

_SOURCES = Path(__file__).parents[2]
_LEFT_OUT = {"split", "nearest"}  # methods of Words: what visitors type, and what to tell them

_TRAIN = '''
def train() -> Iterator[list[float]]:
    """Train every seed side by side; yields the loss of each batch, one number a seed."""
    task = Negation({task})
    config = {model}
    seeds, epochs, batch_size = {seeds}, {epochs}, {batch_size}
    torch.set_num_threads({threads})

    sizes = (len(VOCABULARY.tokens), len(CLASSES), VOCABULARY.id(VOCABULARY.padding))
    models = [{model_class}(config, *sizes, generator(seed, "start")) for seed in seeds]
    model = stack(models) if len(models) > 1 else models[0]
    optimiser = Adam(model.parameters(), learning_rate={learning_rate})

    samples = [torch.tensor(task.sample("train", seed)) for seed in seeds]
    orders = [generator(seed, "{order}") for seed in seeds]
    shares = [batch_weights(task, s, epochs, batch_size, o) for s, o in zip(samples, orders, strict=True)]
    # Cross-entropy is the sum of -share * log p(label): the targets of every step, made once.
    targets = -torch.stack(shares, dim=1)[..., None] * F.one_hot(row_labels(task), len(CLASSES))
    ids = row_ids(task)
    if len(seeds) > 1:
        ids = ids.expand(len(seeds), *ids.shape)
    else:
        targets = targets.squeeze(1)
    one = torch.ones(targets.shape[1:-2])  # seeds share no parameter: each gets its own gradient
    for {steps} in {batches}:
        optimiser.zero_grad()
        losses = (model(ids).log_softmax(dim=-1) * target).sum(dim=(-2, -1))
        losses.backward(one)
{schedule}        optimiser.step()
        yield losses.detach().view(-1).tolist()


if __name__ == "__main__":
    for step, losses in enumerate(train(), start=1):
        epoch, rest = divmod(step, {steps_per_epoch})
        if rest == 0:  # the last batch of an epoch
            print(f"epoch {{epoch}}  loss", *losses)
'''


def as_python(config: RunConfig) -> str:
    """One file that trains this run again, to the same losses. A branch is exported as if it had no parent."""
    schedule = _schedule(config)
    place, _, model_class = variant(config.model).place.partition(":")
    main = _TRAIN.format(
        task=_written(config.task),
        model=_written(config.model),
        seeds=config.seeds,
        epochs=config.epochs,
        batch_size=config.batch_size,
        threads=config.threads,
        model_class=model_class,
        learning_rate=config.optimiser.learning_rate,
        steps_per_epoch=config.steps_per_epoch,
        order=f"order/{config.order}" if config.order else "order",
        schedule=schedule,
        steps="step, target" if schedule else "target",
        batches="enumerate(targets.unbind(), start=1)" if schedule else "targets.unbind()",
    )
    found = _Found()
    for module, names in (
        ("explorer.models.configs", [type(config.model).__name__]),
        (place, [model_class]),
        ("explorer.models.layers", ["stack"]),
        ("explorer.tasks.negation", ["NegationConfig", "Negation", "VOCABULARY", "CLASSES"]),
        ("explorer.tasks.batches", ["row_ids", "row_labels", "batch_weights"]),
        ("explorer.seeds", ["generator"]),
        ("explorer.training.adam", ["Adam"]),
    ):
        for name in names:
            found.need(module, name)
    found.imports |= {("collections.abc", "Iterator"), ("math", ""), ("torch", ""), ("torch.nn.functional", "F")}
    top = "\n\n".join([_head(config), found.import_lines()])
    return top + "\n\n" + "\n\n\n".join([*found.sections(), _rule("the training"), main.lstrip()])


def _schedule(config: RunConfig) -> str:
    """The line that sets a step's size, where it is not always the same; see `config.Adam.rate`."""
    optimiser, left = config.optimiser, f"(1 - (step - 1) / {config.steps})"
    shapes = {"constant": "", "linear": f" * {left}", "cosine": f" * (1 - math.cos(math.pi * {left})) / 2"}
    warmup = f" * min(1.0, step / {optimiser.warmup + 1})" if optimiser.warmup else ""
    change = shapes[optimiser.schedule] + warmup
    return f"        optimiser.learning_rate = {optimiser.learning_rate}{change}\n" if change else ""


def _written(settings: TaskConfig | ModelConfig) -> str:
    """A configuration as the call that makes it, a setting a line."""
    lines = [f"        {f.name}={getattr(settings, f.name)!r},\n" for f in dataclasses.fields(settings)]
    return type(settings).__name__ + ("(\n" + "".join(lines) + "    )" if lines else "()")


def _head(config: RunConfig) -> str:
    return (
        f'"""{config.title} on the {type(config.task).__name__.removesuffix("Config").lower()} task, '
        f"run {key(config)} of Lineage, as one file.\n\n"
        "    python FILE\n\n"
        "It needs torch only and trains to the same losses as the run it was made from. A shape in a signature, as\n"
        'Float[Tensor, "batch time"], is there for the reader: it is never evaluated.\n"""\n\n'
        "from __future__ import annotations"
    )


def _rule(title: str) -> str:
    return f"# ---- {title} ".ljust(119, "-")


class _Module:
    """One source file, taken apart into its definitions."""

    def __init__(self, name: str) -> None:
        self.name = name
        text = (_SOURCES / (name.replace(".", "/") + ".py")).read_text()
        self.lines = text.splitlines()
        tree = ast.parse(text)
        self.docstring = ast.get_docstring(tree) or ""
        self.definitions: dict[str, ast.stmt] = {}
        self.imported: dict[str, tuple[str, str]] = {}  # by local name: the module, and the name in it ("" for itself)
        for node in tree.body:
            match node:
                case ast.FunctionDef(name=defined) | ast.ClassDef(name=defined):
                    self.definitions[defined] = node
                case ast.Assign(targets=[ast.Name(id=defined)]) | ast.AnnAssign(target=ast.Name(id=defined)):
                    self.definitions[defined] = node
                case ast.ImportFrom(module=str(module), names=aliases):
                    self.imported |= {alias.name: (module, alias.name) for alias in aliases}
                case ast.Import(names=aliases):
                    self.imported |= {alias.asname or alias.name: (alias.name, alias.asname or "") for alias in aliases}

    def source(self, name: str) -> str:
        """A definition as it stands in the file, with the comment above it, without the methods left out."""
        node = self.definitions[name]
        first = _first_line(node)
        while self.lines[first - 1].startswith("#"):
            first -= 1
        left_out = {i for method in _left_out(node) for i in range(_first_line(method) - 1, _end(method))}
        lines = [self.lines[i] for i in range(first, _end(node)) if i not in left_out]
        return re.sub(r"  # type: ignore.*", "", "\n".join(lines)).rstrip()


def _first_line(node: ast.stmt) -> int:
    """The index of a definition's first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(part.lineno for part in decorators)]) - 1


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _left_out(node: ast.stmt) -> list[ast.stmt]:
    if not isinstance(node, ast.ClassDef):
        return []
    return [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in _LEFT_OUT]


def _names(node: ast.stmt) -> Iterator[str]:
    """Every name that a definition uses."""
    left_out = {id(part) for method in _left_out(node) for part in ast.walk(method)}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and id(part) not in left_out:
            yield part.id


_module = lru_cache(_Module)


class _Found:
    """The definitions that are needed."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # the module of each definition
        self.imports: set[tuple[str, str]] = set()

    def need(self, place: str, name: str) -> None:
        """Add a definition and what it uses."""
        if self.names.setdefault(name, place) != place:
            raise ValueError(f"{place} and {self.names[name]} both define {name}: one file has room for one")
        module = _module(place)
        node = module.definitions[name]
        for used in _names(node):
            if used in module.definitions and used not in self.names:
                self.need(place, used)
            elif used in module.imported:
                source, original = module.imported[used]
                if source.startswith("explorer."):
                    if original not in self.names:
                        self.need(source, original)
                elif source != "jaxtyping":
                    self.imports.add((source, original))

    def import_lines(self) -> str:
        """The imports of all definitions together: the standard library first, then torch."""
        blocks = []
        for torch in (False, True):
            imports = [pair for pair in self.imports if pair[0].startswith("torch") is torch]
            whole = [f"import {source}" for source, name in imports if not name]
            whole += [f"import {source} as {name}" for source, name in imports if name == "F"]
            some = {source for source, name in imports if name not in ("", "F")}
            parts = [f"from {s} import {', '.join(sorted(n for o, n in imports if o == s and n))}" for s in some]
            blocks.append("\n".join(sorted(whole) + sorted(parts)))
        return "\n\n".join(blocks)

    def modules(self) -> list[_Module]:
        """Where the definitions come from, each after those it imports."""
        ordered: dict[str, _Module] = {}

        def visit(place: str) -> None:
            for source, _ in _module(place).imported.values():
                if source in self.names.values() and source not in ordered:
                    visit(source)
            ordered[place] = _module(place)

        for place in self.names.values():
            if place not in ordered:
                visit(place)
        return list(ordered.values())

    def sections(self) -> Iterator[str]:
        """What is needed of each file, under what the file says about itself."""
        for module in self.modules():
            kept = [name for name in module.definitions if self.names.get(name) == module.name]
            about = "\n".join(f"# {line}".rstrip() for line in module.docstring.splitlines())
            yield _rule(module.name.removeprefix("explorer.").replace(".", "/") + ".py") + "\n" + about
            yield from (module.source(name) for name in kept)  # in the order of the file
