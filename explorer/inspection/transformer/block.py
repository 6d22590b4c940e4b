"""Diagram of a Transformer: every box with its parameters, every arrow with its tensor in one forward pass.

Tapped values are used as they are. Values between two taps (after a norm, before a sum) are computed from them by the
model's own layers, so every box turns its inputs into its output and the last arrow is the prediction. The names are
those of figure 1 of Vaswani et al. 2017.
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
from explorer.inspection.load_model import to_array
from explorer.models.layers import RMSNorm
from explorer.models.taps import record
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder

ArrowKind: TypeAlias = Literal["up", "residual", "cross"]


@dataclass(frozen=True, eq=False)
class Flow:
    """A tensor of the diagram: (tokens, numbers), or inside attention (heads, tokens, numbers); no batch axis."""

    name: str
    title: str
    made: str  # the operation that computes it, named as in the browser's arithmetic
    values: Float32[ndarray, "*heads tokens numbers"]
    ins: tuple[str, ...] = ()  # names of the flows it is computed from
    parameters: tuple[str, ...] = ()  # used by the operation
    tap: str = ""  # the tap it is read from; empty: computed from other flows
    rows: str = "text"  # which token sequence the rows belong to
    columns: str = "width"  # meaning of the columns: a token sequence, or a kind of number
    offset: int = 0  # first row used of a fused query-key-value weight
    same: str = ""  # the encoder flow that this is an alias of


@dataclass(frozen=True)
class Box:
    """A box of the diagram: one operation or several."""

    name: str
    title: str
    column: int
    row: int  # from the bottom
    flows: tuple[str, ...]  # computed in it, in this order; the last one is its output
    parameters: tuple[str, ...]
    kind: str  # "step", "sum" or "blocks" (collapsed blocks)


@dataclass(frozen=True)
class Arrow:
    """An arrow between two boxes; an empty name stands for the input or the output of the model."""

    flow: str
    start: str
    end: str
    way: ArrowKind


@dataclass(frozen=True, eq=False)
class BlockDiagram:
    """One forward pass of one model, with one block of each stack expanded."""

    layer: int
    layers: int
    norm_first: bool
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    flows: Mapping[str, Flow]
    parameters: Mapping[str, Float32[ndarray, "*shape"]]  # all of the model

    @property
    def total_parameters(self) -> int:
        """The number of parameters of the model."""
        return sum(values.size for values in self.parameters.values())

    def count_parameters(self, box: Box) -> int:
        """Return the number of parameters in a box."""
        return sum(self.parameters[name].size for name in box.parameters)


@dataclass(frozen=True, eq=False)
class _Stack:
    """An encoder or decoder: a stack of blocks with its embedding and final norm."""

    ids: Sequence[int]
    position: str  # module of learned positions; empty without
    positions: str
    mark: str = ""  # prefix of the names of its flows and boxes
    column: int = 0
    tokens: str = "text"
    embedding: str = "embedding"
    blocks: str = "blocks"
    embedded: str = "embedded"  # tap
    norm: str = ""  # module of the final norm; empty without
    causal: bool = False
    read: str = ""  # the encoder output, for cross-attention
    read_tokens: str = ""


def block_diagram(model: nn.Module, ids: Sequence[int], layer: int, target: Sequence[int] = ()) -> BlockDiagram:
    """Run a Transformer and return its diagram with block `layer` (from 0) expanded.

    `target`: the decoder input of an encoder-decoder, with <BOS>. Raises InvalidSetting for a model that is no
    Transformer, and for a block that it does not have.
    """
    if isinstance(model, TransformerEncoder) and model.position is not None:
        stacks: tuple[_Stack, ...] = (_Stack(ids, "position", "learned"),)
    elif isinstance(model, TransformerDecoder):
        learned = "position" if model.position is not None else ""
        stacks = (_Stack(ids, learned, model.config.positions, norm="final_norm", causal=True),)
    elif isinstance(model, TransformerEncoderDecoder):
        stacks = _encoder_and_decoder(model, ids, target)
    else:
        raise InvalidSetting(f"{type(model).__name__} has no blocks to open. Choose a Transformer.")
    layers = len(model.get_submodule(stacks[0].blocks))  # type: ignore[arg-type]  # a list of modules
    if not 0 <= layer < layers:
        raise InvalidSetting(
            f"There is no block {layer + 1:,}. This model has {layers}: give a number from 1 to {layers}."
        )
    return _DiagramBuilder(model, stacks, layer, layers).build()


def _encoder_and_decoder(
    model: TransformerEncoderDecoder, ids: Sequence[int], target: Sequence[int]
) -> tuple[_Stack, ...]:
    def half(name: str, column: int, tokens: str, ids: Sequence[int], **more: object) -> _Stack:
        position = "" if model.position is None else f"position.{tokens}"
        place, taps = (f"{name}.", column, tokens), (f"embedding.{tokens}", name, f"embedded_{tokens}")
        return _Stack(ids, position, model.config.positions, *place, *taps, f"{name}_norm", **more)  # type: ignore[arg-type]

    read = {"causal": True, "read": "encoder.top", "read_tokens": "source"}
    return half("encoder", 0, "source", ids), half("decoder", 1, "target", target, **read)


@dataclass(eq=False)
class _DiagramBuilder:
    """Builds the diagram from the tokens at the bottom to the prediction at the top."""

    model: nn.Module
    stacks: tuple[_Stack, ...]
    layer: int
    layers: int
    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    flows: dict[str, Flow] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)  # of the flows, as tensors
    box_of_flow: dict[str, str] = field(default_factory=dict)  # the box that a flow leaves
    row_count: dict[int, int] = field(default_factory=dict)

    @torch.inference_mode()
    def build(self) -> BlockDiagram:
        self.stack = self.stacks[0]
        ids = [torch.tensor([list(stack.ids)]) for stack in self.stacks]
        with record(self.model) as trace:
            self.model(*ids)
        self.trace = {name: value if name.endswith(".mask") else value[0] for name, value in trace.items()}
        self.parameters = {name: to_array(value) for name, value in self.model.named_parameters()}
        for stack in self.stacks:
            self.stack = stack
            output = self.add_stack(torch.tensor(list(stack.ids)))
        self.add_readout(output)
        block = self.model.get_submodule(f"{self.stacks[0].blocks}.{self.layer}")
        return BlockDiagram(
            self.layer,
            self.layers,
            bool(getattr(block, "norm_first", False)),
            tuple(self.boxes),
            tuple(self.arrows),
            self.flows,
            self.parameters,
        )

    # ---- flows, boxes and arrows

    def add_flow(self, name: str, title: str, made: str, value: Tensor, ins: Sequence[str] = (), **more: object) -> str:
        """Add a tensor of this stack, read from its tap if `more` names one, and return its full name."""
        name, tap = self.stack.mark + name, str(more.get("tap", ""))
        value = self.trace[tap] if tap else value
        about = {"rows": self.stack.tokens, **more}
        self.flows[name] = Flow(name, title, made, to_array(value.float()), tuple(ins), **about)  # type: ignore[arg-type]
        self.values[name] = value
        return name

    def add_box(
        self, name: str, title: str, flows: Sequence[str], parameters: Sequence[str], kind: str = "step"
    ) -> str:
        """Add the next box upwards; its last flow is its output. Return its name."""
        row = self.row_count[self.stack.column] = self.row_count.get(self.stack.column, 0) + 1
        box = Box(self.stack.mark + name, title, self.stack.column, row, tuple(flows), tuple(parameters), kind)
        self.boxes.append(box)
        self.box_of_flow[box.flows[-1]] = box.name
        return box.name

    def add_arrow(self, flow: str, end: str, way: ArrowKind = "up") -> None:
        self.arrows.append(Arrow(flow, self.box_of_flow.get(flow, ""), end, way))

    def parameters_of(self, *modules: str) -> list[str]:
        """Return the names of the parameters in these modules."""
        return [name for name in self.parameters if any(name.startswith(f"{module}.") for module in modules)]

    def add_step(
        self, name: str, title: str, made: str, x: str, value: Tensor, module: str = "", **more: object
    ) -> str:
        """Add a box with one input and one output, and return the name of the output."""
        parameters = tuple(self.parameters_of(module)) if module else ()
        y = self.add_flow(f"{name}.out", title, made, value, (x,), parameters=parameters, **more)
        box = self.add_box(name, title, [y], parameters)
        self.add_arrow(x, box)
        return y

    # ---- from the tokens to the prediction

    def add_stack(self, ids: Tensor) -> str:
        """Add a whole stack, from the tokens to its final norm."""
        stack, model = self.stack, self.model
        x = self.add_flow("ids", "Tokens, as numbers", "ids", ids[:, None], columns="id")
        vectors = model.get_submodule(stack.embedding)(ids)
        placed = stack.positions in ("learned", "sinusoidal")
        tap = {} if placed else {"tap": stack.embedded}
        x = self.add_step("embedding", "Embedding", "lookup", x, vectors, stack.embedding, **tap)
        if placed:
            made = "place" if stack.position else "sines"
            x = self.add_step("position", "Positions", made, x, vectors, stack.position, tap=stack.embedded)
        x = self.add_closed_blocks("below", range(self.layer), x)
        x = self.add_block(x)
        x = self.add_closed_blocks("above", range(self.layer + 1, self.layers), x)
        if stack.norm:
            x = self.add_norm("final", "Final norm", stack.norm, x)
        if stack.mark == "encoder.":  # the decoder attends to it
            self.box_of_flow["encoder.top"] = self.box_of_flow[x]
            handed = replace(
                self.flows[x],
                name="encoder.top",
                title="What the encoder made of the source",
                tap="annotations",
                same=x,
            )
            self.flows["encoder.top"], self.values["encoder.top"] = handed, self.values[x]
        return x

    def add_closed_blocks(self, name: str, blocks: range, x: str) -> str:
        """Add one box for several collapsed blocks."""
        if not blocks:
            return x
        first, last = blocks[0] + 1, blocks[-1] + 1
        title = f"Block {first}" if first == last else f"Blocks {first} to {last}"
        names = self.parameters_of(*(f"{self.stack.blocks}.{i}" for i in blocks))
        tap = f"{self.stack.blocks}.{last - 1}.output"
        y = self.add_flow(f"{name}.out", title, "blocks", self.values[x], (x,), tap=tap)
        self.add_arrow(x, self.add_box(name, title, [y], names, "blocks"))
        return y

    def add_block(self, x: str) -> str:
        """Add the boxes of the expanded block."""
        path = f"{self.stack.blocks}.{self.layer}"
        block = self.model.get_submodule(path)
        first = bool(getattr(block, "norm_first", False))
        parts = ["attention", *(["cross"] if self.stack.read else []), "feedforward"]
        for part in parts:
            before = x
            title = {"attention": "Norm 1", "cross": "Norm 2"}.get(part, f"Norm {len(parts)}")
            if first:
                x = self.add_norm(f"{part}_norm", title, f"{path}.{part}_norm", x)
            x = self.add_feedforward(path, x) if part == "feedforward" else self.add_attention(path, part, x)
            tap = {"tap": f"{path}.output"} if part == "feedforward" else {}
            bare = first or isinstance(block.get_submodule(f"{part}_norm"), nn.Identity)
            total = self.values[before] + self.values[x]
            y = self.add_flow(f"{part}_sum.out", "Sum", "sum", total, (before, x), **(tap if bare else {}))
            box = self.add_box(f"{part}_sum", "Sum", [y], [], "sum")
            self.add_arrow(x, box)
            self.add_arrow(before, box, "residual")
            x = y if first else self.add_norm(f"{part}_norm", title, f"{path}.{part}_norm", y, **tap)
        return x

    def add_norm(self, name: str, title: str, module: str, x: str, **more: object) -> str:
        """Add the box of a norm; nothing if the model has none there."""
        norm = self.model.get_submodule(module)
        if isinstance(norm, nn.Identity):
            return x
        made = "rmsnorm" if isinstance(norm, RMSNorm) else "layernorm"
        return self.add_step(name, title, made, x, norm(self.values[x]), module, **more)

    def add_feedforward(self, path: str, x: str) -> str:
        block = self.model.get_submodule(path)
        wide = block.get_submodule("expand")(self.values[x])
        activation = str(getattr(getattr(self.model, "config", None), "activation", "relu"))  # that of a classifier
        bent = getattr(block, "activation", torch.relu)(wide)
        names = [self.parameters_of(f"{path}.{part}") for part in ("expand", "contract")]
        tap = f"{path}.hidden"
        one = self.add_flow("expanded", "Expanded", "linear", wide, (x,), parameters=tuple(names[0]), columns="hidden")
        two = self.add_flow("hidden", "Hidden", activation, bent, (one,), columns="hidden",
                        **({"tap": tap} if tap in self.trace else {}))  # fmt: skip
        out = block.get_submodule("contract")(self.values[two])
        three = self.add_flow("feedforward.out", "Contribution", "linear", out, (two,), parameters=tuple(names[1]))
        box = self.add_box("feedforward", "Feedforward", [one, two, three], [*names[0], *names[1]])
        self.add_arrow(x, box)
        return three

    def add_attention(self, path: str, part: str, x: str) -> str:
        """Add the box of an attention with all its flows, and its arrows."""
        stack, attention_path = self.stack, f"{path}.{part}"
        module = self.model.get_submodule(attention_path)
        cross = part == "cross"
        offered = stack.read if cross else x
        far = stack.read_tokens if cross else stack.tokens
        rotary = stack.positions == "rotary"
        flows = []
        for i, (one, title) in enumerate((("queries", "Queries Q"), ("keys", "Keys K"), ("values", "Values V"))):
            given, rows = (x, stack.tokens) if i == 0 else (offered, far)
            made, names, offset = "project", *self.projection(attention_path, i)
            more = {"rows": rows, "columns": "head"}
            if rotary and i < 2:
                flat = self.without_rotation(module, given, i)
                name = self.add_flow(f"{part}.{one}_still", f"{title} before turning", made, flat, (given,),
                                 parameters=names, offset=offset, **more)  # fmt: skip
                flows.append(name)
                made, names, offset, given = "turn", (), 0, name
            name = self.add_flow(f"{part}.{one}", title, made, self.values[x], (given,), parameters=names,
                             offset=offset, tap=f"{attention_path}.{one}", **more)  # fmt: skip
            flows.append(name)
        q, k, v = (f"{stack.mark}{part}.{one}" for one in ("queries", "keys", "values"))
        scores = self.add_flow(
            f"{part}.scores", "Scores", "scores", self.values[x], (q, k), tap=f"{attention_path}.scores", columns=far
        )
        hidden = torch.zeros(self.values[scores].shape[-2:])
        if stack.causal and not cross:
            hidden = torch.full_like(hidden, -torch.inf).triu(1)
        tap = {"tap": f"{attention_path}.mask"} if f"{attention_path}.mask" in self.trace else {}
        mask = self.add_flow(f"{part}.mask", "Mask", "mask", hidden, (), columns=far, **tap)
        weights = self.add_flow(f"{part}.weights", "Weights", "weights", self.values[x], (scores, mask),
                            tap=f"{attention_path}.weights", columns=far)  # fmt: skip
        mixed = self.add_flow(f"{part}.mixed", "Mixed values", "mixed", self.values[x], (weights, v),
                          tap=f"{attention_path}.mixed", columns="head")  # fmt: skip
        out = module.get_submodule("output")(self.values[mixed].transpose(-2, -3).flatten(-2))
        names = tuple(self.parameters_of(f"{attention_path}.output"))
        y = self.add_flow(f"{part}.out", "Contribution", "linear", out, (mixed,), parameters=names)
        title = "Cross-attention" if cross else "Masked attention" if stack.causal else "Self-attention"
        box = self.add_box(part, title, [*flows, scores, mask, weights, mixed, y], self.parameters_of(attention_path))
        self.add_arrow(x, box)
        if cross:
            self.add_arrow(stack.read, box, "cross")
        return y

    def projection(self, attention_path: str, part: int) -> tuple[tuple[str, ...], int]:
        """Return the weight that computes queries (0), keys (1) or values (2), and its first row that does."""
        fused = f"{attention_path}.project.weight"
        if fused in self.parameters:
            return (fused,), part * (self.parameters[fused].shape[0] // 3)
        return (f"{attention_path}.{('query', 'key', 'value')[part]}.weight",), 0

    def without_rotation(self, module: nn.Module, x: str, part: int) -> Float[Tensor, "heads tokens head"]:
        """Return queries or keys before the rotation by rotary positions."""
        made = module.get_submodule("project")(self.values[x]).chunk(3, dim=-1)[part]
        apart: Tensor = made.view(made.shape[0], module.heads, -1)
        return apart.transpose(0, 1)

    def add_readout(self, x: str) -> None:
        """Add readout and softmax. The encoder predicts at its first token only."""
        first = isinstance(self.model, TransformerEncoder)
        more = {"columns": "answers", "rows": "first" if first else self.stack.tokens}
        seen = self.values[x][:1] if first else self.values[x]
        logits = self.add_step(
            "readout", "Readout", "linear", x, self.model.get_submodule("readout")(seen), "readout", **more
        )
        end = self.add_step("softmax", "Softmax", "softmax", logits, self.values[logits].softmax(dim=-1), **more)
        self.add_arrow(end, "")
