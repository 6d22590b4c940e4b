"""A Transformer opened: every box with its parameters, every arrow with the tensor that went along it in one forward.

What the taps of a model saw is taken as it is. What stands between two taps (after a norm, before a sum) is computed
from that by the model's own layers, so that the arrows hang together: each box, given what goes in, gives what comes
out, and the last arrow is the model's answer. The names here are those of figure 1 of Vaswani et al. 2017.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Float32
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.inspection.opening import to_array
from explorer.models.layers import RMSNorm
from explorer.models.taps import record
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder

Way: TypeAlias = Literal["up", "residual", "cross"]


@dataclass(frozen=True, eq=False)
class Flow:
    """A tensor on its way: (tokens, numbers), or inside an attention (heads, tokens, numbers); the batch is one."""

    name: str
    title: str
    made: str  # the operation that made it, as assets/blockmath.js knows it
    values: Float32[ndarray, "*heads tokens numbers"]
    ins: tuple[str, ...] = ()  # flows it is made of
    parameters: tuple[str, ...] = ()  # that the operation uses
    tap: str = ""  # where the model shows it; empty: computed from what it shows
    rows: str = "text"  # whose tokens they are, see `Opened.names`
    columns: str = "width"  # tokens, or what the numbers stand for
    offset: int = 0  # the first row of a weight that makes queries, keys and values in one
    same: str = ""  # the flow that it is under another name, where one half hands it to the other


@dataclass(frozen=True)
class Box:
    """An operation of the diagram, or several that stand in one box."""

    name: str
    title: str
    column: int
    row: int  # from the bottom
    flows: tuple[str, ...]  # what is computed in it, in this order; the last one leaves it
    parameters: tuple[str, ...]
    kind: str  # "step", "sum", "blocks" that are not opened


@dataclass(frozen=True)
class Arrow:
    """From one box to the next; empty: from outside, or out of the model."""

    flow: str
    start: str
    end: str
    way: Way


@dataclass(frozen=True, eq=False)
class Opened:
    """One forward of one model, with one block (of each half) opened."""

    layer: int
    layers: int
    norm_first: bool
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    flows: Mapping[str, Flow]
    parameters: Mapping[str, Float32[ndarray, "*shape"]]  # all of the model

    @property
    def total(self) -> int:
        """How many numbers the model has learned."""
        return sum(values.size for values in self.parameters.values())

    def count(self, box: Box) -> int:
        """How many of them stand in a box."""
        return sum(self.parameters[name].size for name in box.parameters)


@dataclass(frozen=True, eq=False)
class _Half:
    """A stack of blocks and what stands around it, as the drawing needs it."""

    mark: str  # begins the names of its flows and boxes
    column: int
    tokens: str
    ids: Sequence[int]
    embedding: str
    position: str  # learned positions; empty without
    positions: str
    blocks: str
    embedded: str  # tap
    norm: nn.Module
    norm_name: str
    causal: bool
    read: str = ""  # the flow that the other half hands over
    read_tokens: str = ""


def open_block(model: nn.Module, ids: Sequence[int], layer: int, target: Sequence[int] = ()) -> Opened:
    """Let a Transformer read, with one of its blocks opened, counted from 0. `target`: what an encoder–decoder has
    written so far, with <BOS>. Raises InvalidSetting for another model, or a block that it does not have."""
    if isinstance(model, TransformerEncoder) and model.position is not None:
        half = _Half(
            "", 0, "text", ids, "embedding", "position", "learned", "blocks", "embedded", nn.Identity(), "", False
        )
        halves: tuple[_Half, ...] = (half,)
    elif isinstance(model, TransformerDecoder):
        learned = "position" if model.position is not None else ""
        half = _Half("", 0, "text", ids, "embedding", learned, model.config.positions, "blocks", "embedded",
                     model.final_norm, "final_norm", True)  # fmt: skip
        halves = (half,)
    elif isinstance(model, TransformerEncoderDecoder):
        halves = _two_halves(model, ids, target)
    else:
        raise InvalidSetting(f"{type(model).__name__} has no blocks to open. Choose a Transformer.")
    layers = len(model.get_submodule(halves[0].blocks))  # type: ignore[arg-type]  # a list of modules
    if not 0 <= layer < layers:
        raise InvalidSetting(
            f"There is no block {layer + 1:,}. This model has {layers}: give a number from 1 to {layers}."
        )
    return _Drawing(model, halves, layer, layers).opened()


def _two_halves(model: TransformerEncoderDecoder, ids: Sequence[int], target: Sequence[int]) -> tuple[_Half, ...]:
    at = ["position.source", "position.target"] if model.position is not None else ["", ""]
    how = model.config.positions
    return (
        _Half("encoder.", 0, "source", ids, "embedding.source", at[0], how, "encoder", "embedded_source",
              model.encoder_norm, "encoder_norm", False),
        _Half("decoder.", 1, "target", target, "embedding.target", at[1], how, "decoder", "embedded_target",
              model.decoder_norm, "decoder_norm", True, "encoder.top", "source"),
    )  # fmt: skip


@dataclass(eq=False)
class _Drawing:
    """Grows from the tokens at the bottom to the answer at the top."""

    model: nn.Module
    halves: tuple[_Half, ...]
    layer: int
    layers: int
    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    flows: dict[str, Flow] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)  # of the flows, as tensors
    owner: dict[str, str] = field(default_factory=dict)  # the box that a flow leaves
    height: dict[int, int] = field(default_factory=dict)

    @torch.inference_mode()
    def opened(self) -> Opened:
        self.half = self.halves[0]
        ids = [torch.tensor([list(half.ids)]) for half in self.halves]
        with record(self.model) as trace:
            self.model(*ids)
        self.trace = {name: value if name.endswith(".mask") else value[0] for name, value in trace.items()}
        self.learned = {name: to_array(value) for name, value in self.model.named_parameters()}
        for half in self.halves:
            self.half = half
            top = self.stack(torch.tensor(list(half.ids)))
        self.answer(top)
        block = self.model.get_submodule(f"{self.halves[0].blocks}.{self.layer}")
        return Opened(
            self.layer,
            self.layers,
            bool(getattr(block, "norm_first", False)),
            tuple(self.boxes),
            tuple(self.arrows),
            self.flows,
            self.learned,
        )

    # ---- what everything is made of

    def flow(self, name: str, title: str, made: str, value: Tensor, ins: Sequence[str] = (), **more: object) -> str:
        """A tensor of this half, under its name here; what the tap saw where there is one."""
        name, tap = self.half.mark + name, str(more.get("tap", ""))
        value = self.trace[tap] if tap else value
        about = {"rows": self.half.tokens, **more}
        self.flows[name] = Flow(name, title, made, to_array(value.float()), tuple(ins), **about)  # type: ignore[arg-type]
        self.values[name] = value
        return name

    def box(self, name: str, title: str, flows: Sequence[str], parameters: Sequence[str], kind: str = "step") -> str:
        """The next box above. Its last flow leaves it."""
        row = self.height[self.half.column] = self.height.get(self.half.column, 0) + 1
        box = Box(self.half.mark + name, title, self.half.column, row, tuple(flows), tuple(parameters), kind)
        self.boxes.append(box)
        self.owner[box.flows[-1]] = box.name
        return box.name

    def arrow(self, flow: str, end: str, way: Way = "up") -> None:
        self.arrows.append(Arrow(flow, self.owner.get(flow, ""), end, way))

    def of(self, *modules: str) -> list[str]:
        """The names of the parameters in these modules."""
        return [name for name in self.learned if any(name.startswith(f"{module}.") for module in modules)]

    def step(self, name: str, title: str, made: str, x: str, value: Tensor, module: str = "", **more: object) -> str:
        """A box with one flow in and one out."""
        parameters = tuple(self.of(module)) if module else ()
        y = self.flow(f"{name}.out", title, made, value, (x,), parameters=parameters, **more)
        box = self.box(name, title, [y], parameters)
        self.arrow(x, box)
        return y

    # ---- from the tokens to the answer

    def stack(self, ids: Tensor) -> str:
        """A whole half."""
        half, model = self.half, self.model
        x = self.flow("ids", "Tokens, as numbers", "ids", ids[:, None], columns="id")
        vectors = model.get_submodule(half.embedding)(ids)
        placed = half.positions in ("learned", "sinusoidal")
        tap = {} if placed else {"tap": half.embedded}
        x = self.step("embedding", "Embedding", "lookup", x, vectors, half.embedding, **tap)
        if placed:
            made = "place" if half.position else "sines"
            x = self.step("position", "Positions", made, x, vectors, half.position, tap=half.embedded)
        x = self.through("below", range(self.layer), x)
        x = self.block(x)
        x = self.through("above", range(self.layer + 1, self.layers), x)
        if not isinstance(half.norm, nn.Identity):
            x = self.normed("final", "Final norm", half.norm_name, x)
        if half.mark == "encoder.":  # what the other half looks back at
            self.owner["encoder.top"] = self.owner[x]
            handed = replace(
                self.flows[x],
                name="encoder.top",
                title="What the encoder made of the source",
                tap="annotations",
                same=x,
            )
            self.flows["encoder.top"], self.values["encoder.top"] = handed, self.values[x]
        return x

    def through(self, name: str, blocks: range, x: str) -> str:
        """Blocks that are not opened."""
        if not blocks:
            return x
        first, last = blocks[0] + 1, blocks[-1] + 1
        title = f"Block {first}" if first == last else f"Blocks {first} to {last}"
        names = self.of(*(f"{self.half.blocks}.{i}" for i in blocks))
        tap = f"{self.half.blocks}.{last - 1}.output"
        y = self.flow(f"{name}.out", title, "blocks", self.values[x], (x,), tap=tap)
        self.arrow(x, self.box(name, title, [y], names, "blocks"))
        return y

    def block(self, x: str) -> str:
        """The block that is opened."""
        place = f"{self.half.blocks}.{self.layer}"
        block = self.model.get_submodule(place)
        first = bool(getattr(block, "norm_first", False))
        parts = ["attention", *(["cross"] if self.half.read else []), "feedforward"]
        for part in parts:
            before = x
            title = {"attention": "Norm 1", "cross": "Norm 2"}.get(part, f"Norm {len(parts)}")
            if first:
                x = self.normed(f"{part}_norm", title, f"{place}.{part}_norm", x)
            x = self.feedforward(place, x) if part == "feedforward" else self.attention(place, part, x)
            tap = {"tap": f"{place}.output"} if part == "feedforward" else {}
            bare = first or isinstance(block.get_submodule(f"{part}_norm"), nn.Identity)
            total = self.values[before] + self.values[x]
            y = self.flow(f"{part}_sum.out", "Sum", "sum", total, (before, x), **(tap if bare else {}))
            box = self.box(f"{part}_sum", "Sum", [y], [], "sum")
            self.arrow(x, box)
            self.arrow(before, box, "residual")
            x = y if first else self.normed(f"{part}_norm", title, f"{place}.{part}_norm", y, **tap)
        return x

    def normed(self, name: str, title: str, module: str, x: str, **more: object) -> str:
        """Nothing where the model has none."""
        norm = self.model.get_submodule(module)
        if isinstance(norm, nn.Identity):
            return x
        made = "rmsnorm" if isinstance(norm, RMSNorm) else "layernorm"
        return self.step(name, title, made, x, norm(self.values[x]), module, **more)

    def feedforward(self, place: str, x: str) -> str:
        block = self.model.get_submodule(place)
        wide = block.get_submodule("expand")(self.values[x])
        bent = getattr(block, "activation", torch.relu)(wide)
        names = [self.of(f"{place}.{part}") for part in ("expand", "contract")]
        tap = f"{place}.hidden"
        one = self.flow("expanded", "Expanded", "linear", wide, (x,), parameters=tuple(names[0]), columns="hidden")
        two = self.flow("hidden", "Hidden", self.bend(block), bent, (one,), columns="hidden",
                        **({"tap": tap} if tap in self.trace else {}))  # fmt: skip
        out = block.get_submodule("contract")(self.values[two])
        three = self.flow("feedforward.out", "Contribution", "linear", out, (two,), parameters=tuple(names[1]))
        box = self.box("feedforward", "Feedforward", [one, two, three], [*names[0], *names[1]])
        self.arrow(x, box)
        return three

    def bend(self, block: nn.Module) -> str:
        """The nonlinearity by its name; the encoder's own is ReLU."""
        config = getattr(self.model, "config", None)
        return str(getattr(config, "activation", "relu"))

    def attention(self, place: str, part: str, x: str) -> str:
        """One box with all that happens in it."""
        half, at = self.half, f"{place}.{part}"
        module = self.model.get_submodule(at)
        cross = part == "cross"
        offered = half.read if cross else x
        far = half.read_tokens if cross else half.tokens
        rotary = half.positions == "rotary"
        flows = []
        for i, (one, title) in enumerate((("queries", "Queries Q"), ("keys", "Keys K"), ("values", "Values V"))):
            given, rows = (x, half.tokens) if i == 0 else (offered, far)
            made, names, offset = "project", *self.projection(at, i)
            more = {"rows": rows, "columns": "head"}
            if rotary and i < 2:
                flat = self.flat(module, given, i)
                name = self.flow(f"{part}.{one}_still", f"{title} before turning", made, flat, (given,),
                                 parameters=names, offset=offset, **more)  # fmt: skip
                flows.append(name)
                made, names, offset, given = "turn", (), 0, name
            name = self.flow(f"{part}.{one}", title, made, self.values[x], (given,), parameters=names,
                             offset=offset, tap=f"{at}.{one}", **more)  # fmt: skip
            flows.append(name)
        q, k, v = (f"{half.mark}{part}.{one}" for one in ("queries", "keys", "values"))
        scores = self.flow(
            f"{part}.scores", "Scores", "scores", self.values[x], (q, k), tap=f"{at}.scores", columns=far
        )
        hidden = torch.zeros(self.values[scores].shape[-2:])
        if half.causal and not cross:
            hidden = torch.full_like(hidden, -torch.inf).triu(1)
        tap = {"tap": f"{at}.mask"} if f"{at}.mask" in self.trace else {}
        mask = self.flow(f"{part}.mask", "Mask", "mask", hidden, (), columns=far, **tap)
        weights = self.flow(f"{part}.weights", "Weights", "weights", self.values[x], (scores, mask),
                            tap=f"{at}.weights", columns=far)  # fmt: skip
        mixed = self.flow(f"{part}.mixed", "Mixed values", "mixed", self.values[x], (weights, v),
                          tap=f"{at}.mixed", columns="head")  # fmt: skip
        out = module.get_submodule("output")(self.values[mixed].transpose(-2, -3).flatten(-2))
        names = tuple(self.of(f"{at}.output"))
        y = self.flow(f"{part}.out", "Contribution", "linear", out, (mixed,), parameters=names)
        title = "Cross-attention" if cross else "Masked attention" if half.causal else "Self-attention"
        box = self.box(part, title, [*flows, scores, mask, weights, mixed, y], self.of(at))
        self.arrow(x, box)
        if cross:
            self.arrow(half.read, box, "cross")
        return y

    def projection(self, at: str, part: int) -> tuple[tuple[str, ...], int]:
        """The weight that makes queries (0), keys (1) or values (2), and the first of its rows that does."""
        fused = f"{at}.project.weight"
        if fused in self.learned:
            return (fused,), part * (self.learned[fused].shape[0] // 3)
        return (f"{at}.{('query', 'key', 'value')[part]}.weight",), 0

    def flat(self, module: nn.Module, x: str, part: int) -> Float[Tensor, "heads tokens head"]:
        """Queries or keys that do not know yet where they stand."""
        made = module.get_submodule("project")(self.values[x]).chunk(3, dim=-1)[part]
        apart: Tensor = made.view(made.shape[0], module.heads, -1)
        return apart.transpose(0, 1)

    def answer(self, x: str) -> None:
        """From the last vectors to a probability of every answer. An encoder answers at its first token only."""
        first = isinstance(self.model, TransformerEncoder)
        more = {"columns": "answers", "rows": "first" if first else self.half.tokens}
        seen = self.values[x][:1] if first else self.values[x]
        logits = self.step(
            "readout", "Readout", "linear", x, self.model.get_submodule("readout")(seen), "readout", **more
        )
        end = self.step("softmax", "Softmax", "softmax", logits, self.values[logits].softmax(dim=-1), **more)
        self.arrow(end, "")
