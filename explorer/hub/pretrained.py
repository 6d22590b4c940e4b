"""A pretrained model with taps: its attention and its residual stream can be recorded and replaced like our own.

The code of `transformers` computes everything. Two things are added when a model is loaded, once:

- Its attention modules call `hub/attention.py`, which has the taps of a head.
- The `forward` of each block is wrapped. The wrapper passes the output of the block, which is the residual stream after
  it, through a tap. It can also skip the block (`readout`) or record its arguments (`embed_and_blocks`).

Which modules are blocks is found by one forward pass: the modules that ask for attention are in them, and a block is an
item of the outermost list around such a module. The names of the taps are those of our own models:
`embedded`, `blocks.0.attention.weights`, `blocks.0.output`; with an encoder and a decoder
`encoder.0.attention.weights`, `decoder.0.cross.weights`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.hub.architectures import Kind, Part
from explorer.hub.attention import AttentionTaps, Call, attach_taps, recorded_calls, value_inside
from explorer.models.context_window import window_start
from explorer.models.structure import AttentionLayout
from explorer.models.taps import Intervention, Tap, record

PARTS: tuple[Part, ...] = ("encoder", "decoder", "cross")  # of a model with an encoder and a decoder
_BLOCK = re.compile(r"^(.*?\.)(\d+)(\.|$)")  # the outermost list in the name of a module, and the index in it
_EMBEDDED = {"blocks": "embedded", "encoder": "embedded_source", "decoder": "embedded_target"}  # taps, by stack
_PROBE = 4  # tokens of the forward pass that finds the blocks


class BlockTaps(nn.Module):
    """The taps of one block."""

    def __init__(self, cross_attention: bool = False) -> None:
        super().__init__()
        self.attention = AttentionTaps()
        if cross_attention:
            self.cross = AttentionTaps()
        self.output = Tap()  # the residual stream after the block, "batch time width"


class Stack(nn.ModuleList):
    """The taps of all blocks of an encoder or of a decoder."""


@dataclass
class _Pass:
    """What the wrappers of the blocks do in one forward pass besides calling the block."""

    stack: nn.Module
    readout: Tensor | None = None  # skip all blocks of the stack; this is the output of the last one
    calls: list[Callable[[Tensor], Tensor]] = field(default_factory=list)  # the blocks with their other arguments


_pass: ContextVar[_Pass | None] = ContextVar("pass", default=None)


@dataclass(frozen=True, eq=False)
class _Block:
    """One block of a model of `transformers`, and where its taps are."""

    module: nn.Module
    taps: BlockTaps
    stack: Stack
    index: int
    last: bool
    embedded: Tap
    original: Callable[..., Any]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the block, and pass its input (of the first block) and its output through their taps."""
        hidden, rest, named = _split(args, kwargs)
        now = _pass.get()
        if now is not None and now.stack is self.stack:
            if now.readout is not None:
                return self._like_output(now.readout if self.last else hidden)
            now.calls.append(partial(self._replay, rest, named))
        if self.index == 0:
            hidden = self.embedded(hidden)
        return self._with_tap(self.original(hidden, *rest, **named))

    def _replay(self, rest: tuple[Any, ...], named: Mapping[str, Any], hidden: Tensor) -> Tensor:
        """Return the output for another input and the same other arguments, such as the mask."""
        output = self._with_tap(self.original(hidden, *rest, **named))
        hidden_states: Tensor = output[0] if isinstance(output, tuple) else output
        return hidden_states

    def _with_tap(self, output: Any) -> Any:
        if isinstance(output, tuple):
            return (self.taps.output(output[0]), *output[1:])
        return self.taps.output(output)

    def _like_output(self, hidden: Tensor) -> Any:
        """Return a vector in the form in which this block returns its output: alone, or first in a tuple."""
        length = self.module.__dict__["output_length"]
        return hidden if length == 0 else (hidden, *[None] * (length - 1))


def _split(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Tensor, tuple[Any, ...], dict[str, Any]]:
    if args:
        return args[0], args[1:], dict(kwargs)
    named = dict(kwargs)
    return named.pop("hidden_states"), (), named


class PretrainedModule(nn.Module):
    """A model of `transformers` with taps. It is frozen, in evaluation mode, and shared by all visitors.

    model: a model of a known architecture (`architectures.py`), whose attention implementation is `attention.NAME`
    kind: encoder, decoder, or both
    predicts: whether it has an output layer over the vocabulary (or it gives vectors)

    For inspection it is an `AttentionModel`; the three parts of an encoder–decoder are given by `part`. Never copy it:
    the wrapped blocks of a copy would call the original. Raises InvalidSetting if the blocks cannot be found.
    """

    _model: Any  # of transformers; not a submodule at first, so that the taps come first and give the names

    def __init__(self, model: Any, kind: Kind, predicts: bool) -> None:
        super().__init__()
        self.kind, self.predicts = kind, predicts
        model.eval().requires_grad_(False)
        self.vocabulary = int(model.config.get_text_config().vocab_size)
        self.stacks: dict[str, Stack] = {}
        self._blocks: dict[str, list[_Block]] = {}
        self.heads: dict[str, int] = {}
        self.__dict__["_model"] = model
        self._attach_taps()
        self.model = model

    # ---- Forward passes ----

    @property
    def context(self) -> int:
        """The number of tokens that the model can read at most; 0 if it has no limit."""
        config = self._model.config
        limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 0
        return int(limit) - (2 if config.model_type == "roberta" else 0)  # two positions of RoBERTa are for padding

    def forward(self, ids: Int[Tensor, "batch time"], target: Int[Tensor, "batch target"] | None = None) -> Tensor:
        """Return the logits at every token, or the vectors of a model without an output layer.

        target: the ids that the decoder of an encoder–decoder reads, with its start token
        """
        if self.kind == "encoder-decoder":
            output = self._model(input_ids=ids, decoder_input_ids=target, use_cache=False)
        elif self.kind == "encoder":
            output = self._model(input_ids=ids)
        else:
            output = self._model(input_ids=ids, use_cache=False)
        value: Tensor = output.logits if self.predicts else output.last_hidden_state
        return value

    def next_logits(self, ids: Int[Tensor, "rows time"], cache: Any) -> tuple[Float[Tensor, "rows vocabulary"], Any]:
        """Return the logits after the last of more tokens, and the cache with the keys and values of all tokens."""
        output = self._model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1)
        return output.logits[:, -1], output.past_key_values

    def make_decoder(self, samples: int, context: int) -> PretrainedDecoder:
        """Return a decoder that continues `samples` texts. Raises InvalidSetting for a model that cannot continue."""
        if self.kind != "decoder" or not self.predicts:
            raise InvalidSetting("This model does not continue texts. Choose a language model.")
        return PretrainedDecoder(self.next_logits, samples, min(context, self.context or context))

    @torch.inference_mode()
    def translate(self, ids: Sequence[int], most: int) -> tuple[int, ...]:
        """Return the most probable token after each other (greedy decoding), up to the end token or `most` tokens.

        The start token is not part of it. Raises InvalidSetting for a model without an encoder and a decoder.
        """
        if self.kind != "encoder-decoder":
            raise InvalidSetting("This model does not translate. Choose one with an encoder and a decoder.")
        config = self._model.config
        ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        encoded = self._model.get_encoder()(input_ids=torch.tensor([tuple(ids)]))
        written = [self.decoder_start]
        while len(written) <= most and (len(written) == 1 or written[-1] not in ends):
            target = torch.tensor([written])
            logits = self._model(encoder_outputs=encoded, decoder_input_ids=target, use_cache=False).logits[0, -1]
            if self.padding is not None:
                logits[self.padding] = -torch.inf  # Marian gives it a high logit; it is never meant
            written.append(int(logits.argmax()))
        return tuple(written[1:])

    @property
    def padding(self) -> int | None:
        """The token that fills up texts of different lengths, which is never an answer."""
        padding: int | None = getattr(self._model.config, "pad_token_id", None)
        return padding

    @property
    def decoder_start(self) -> int:
        """The token from which a decoder with an encoder starts."""
        config = self._model.config
        start = getattr(config, "decoder_start_token_id", None)
        return int(config.pad_token_id if start is None else start)

    def part(self, name: Part = "", target: Sequence[int] = ()) -> PretrainedAttention:
        """Return one attention part of the model; `target` is what the decoder reads, if there is an encoder."""
        if self.kind != "encoder-decoder":
            return PretrainedAttention(self, "blocks", "attention", causal=self.kind == "decoder")
        stack, attention = {"encoder": ("encoder", "attention"), "decoder": ("decoder", "attention")}.get(
            name, ("decoder", "cross")
        )
        given = tuple(target) or (self.decoder_start,)
        return PretrainedAttention(self, stack, attention, name == "decoder", given)

    # ---- Taps ----

    def _probe(self) -> None:
        ids = torch.arange(3, 3 + _PROBE)[None] % self.vocabulary
        with torch.inference_mode():
            self(ids, ids if self.kind == "encoder-decoder" else None)

    def _attach_taps(self) -> None:
        """Find the blocks by a forward pass, give their attention modules taps, and wrap their `forward`."""
        names = {module: name for name, module in self._model.named_modules()}
        found: dict[str, dict[int, list[nn.Module]]] = {}  # by list, then by index
        with recorded_calls() as calls:
            self._probe()
        for module, _ in calls:
            match = _BLOCK.match(names[module])
            if match is None:
                raise InvalidSetting("The blocks of this model are not in a list, so Lineage cannot show its layers.")
            modules = found.setdefault(match[1], {}).setdefault(int(match[2]), [])
            if module in modules:
                raise InvalidSetting(
                    "This model uses one block for several layers, so its layers cannot be told apart."
                )
            modules.append(module)
        expected = ("encoder", "decoder") if self.kind == "encoder-decoder" else ("blocks",)
        if len(found) != len(expected):
            raise InvalidSetting("This model computes its attention in a way of its own, which Lineage cannot record.")
        heads = {module: output.shape[2] for module, output in calls}
        for name, (path, by_index) in zip(expected, found.items(), strict=True):
            blocks = self._model.get_submodule(path.removesuffix("."))
            if sorted(by_index) != list(range(len(blocks))):
                raise InvalidSetting("Some layers of this model have no attention that Lineage can record.")
            stack = Stack(BlockTaps(cross_attention=len(by_index[i]) > 1) for i in range(len(blocks)))
            embedded = Tap()
            self.add_module(_EMBEDDED[name], embedded)
            self.add_module(name, stack)
            self.stacks[name] = stack
            self._blocks[name] = []
            self.heads[name] = heads[by_index[0][0]]
            for i, block in enumerate(blocks):
                taps: BlockTaps = stack[i]  # type: ignore[assignment]  # a list of these
                of_modules = [taps.attention, *([taps.cross] if len(by_index[i]) > 1 else [])]
                for module, of_module in zip(by_index[i], of_modules, strict=True):
                    attach_taps(module, of_module)
                wrapper = _Block(block, taps, stack, i, i == len(blocks) - 1, embedded, block.forward)
                self._blocks[name].append(wrapper)
        self._measure_blocks()
        for blocks_of_stack in self._blocks.values():
            for wrapper in blocks_of_stack:
                wrapper.module.forward = wrapper.forward

    # ---- What a block is made of ----

    def _measure_blocks(self) -> None:
        """Find out by a forward pass what the blocks return, and whether they add their parts to the residual stream.

        The output projection of an attention is the first linear map after it; the feedforward layer ends with the last
        linear map of the block. If the output of a block is its input plus the outputs of these two, its parts add up.
        """
        with recorded_calls() as calls:
            measured = {
                name: [_BlockMeasurement(wrapper, calls) for wrapper in wrappers]
                for name, wrappers in self._blocks.items()
            }
            every = [each for of_stack in measured.values() for each in of_stack]
            try:
                self._probe()
            finally:
                for each in every:
                    each.remove()
        self._projections = {
            (name, layer): each.projection for name, of_stack in measured.items() for layer, each in enumerate(of_stack)
        }
        # Of the last block: the first one of some models has no norm before its attention.
        self.block_designs = {name: of_stack[-1].design for name, of_stack in measured.items()}
        adds_up = self.kind == "decoder" and self.predicts and all(each.adds_up for each in every)
        self.linear_readout = self._find_readout() if adds_up else None

    @property
    def all_blocks(self) -> list[nn.Module]:
        """All blocks of all stacks, as modules of `transformers`."""
        return [wrapper.module for wrappers in self._blocks.values() for wrapper in wrappers]

    def output_projection(self, stack: str, layer: int) -> tuple[Float[Tensor, "width mixed"], Tensor | None]:
        """Return weight and bias of the map from the concatenated heads to what they add to the residual stream."""
        return _weight_and_bias(self._projections[stack, layer])

    def _find_readout(self) -> LinearReadout | None:
        """Return the final norm and the output layer; None if they are not of this form, which is checked."""
        path = next(
            name.rpartition(".")[0]
            for name, module in self._model.named_modules()
            if module is self._blocks["blocks"][0].module
        )
        parent = self._model.get_submodule(path.rpartition(".")[0])
        norms = [m for m in parent.children() if is_norm(m) and hasattr(m, "weight")]
        if len(norms) != 1:
            return None
        norm, output = norms[0], self._model.get_output_embeddings()
        weight, bias = _weight_and_bias(output)
        shift = getattr(norm, "bias", None)
        epsilon = getattr(norm, "eps", getattr(norm, "variance_epsilon", None))
        if epsilon is None:
            return None
        return LinearReadout(
            isinstance(norm, nn.LayerNorm),
            float(epsilon),
            norm.weight.detach(),
            torch.zeros_like(norm.weight) if shift is None else shift.detach(),
            weight,
            weight.new_zeros(len(weight)) if bias is None else bias,
        )


def is_norm(module: nn.Module) -> bool:
    """Return whether a module of `transformers` is a norm: a layer norm or an RMS norm."""
    return "norm" in type(module).__name__.lower()


def _weight_and_bias(module: Any) -> tuple[Tensor, Tensor | None]:
    """Return weight (outputs, inputs) and bias of a linear map; the `Conv1D` of GPT-2 has its weight transposed."""
    weight = module.weight.detach()
    bias = getattr(module, "bias", None)
    return (weight.T if type(module).__name__ == "Conv1D" else weight), None if bias is None else bias.detach()


@dataclass
class BlockDesign:
    """How the parts of a block follow each other, as one forward pass shows it."""

    norm: nn.Module | None = None  # one of its norms
    norm_first: bool = False  # whether the attention reads the output of a norm
    norm_last: bool = False  # whether the output of the block, or of its feedforward part, is normalized
    parallel: bool = False  # whether the feedforward part reads the input of the block
    feedforward: list[Any] = field(default_factory=list)  # its linear maps, in order

    @property
    def hidden(self) -> int:
        """How many numbers the last linear map of the feedforward part reads."""
        return int(_weight_and_bias(self.feedforward[-1])[0].shape[1])

    @property
    def gated(self) -> bool:
        """Whether the feedforward part multiplies two projections of its input, which may be one linear map."""
        return sum(len(_weight_and_bias(each)[0]) for each in self.feedforward[:-1]) == 2 * self.hidden


class _BlockMeasurement:
    def __init__(self, block: _Block, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.projection: Any = None
        self.adds_up = False
        self.design = BlockDesign()
        self._attended: Tensor | None = None  # what the attention adds
        self._last: Tensor | None = None  # the output of the last linear map
        self._input: Tensor | None = None
        linear = [m for m in block.module.modules() if isinstance(m, nn.Linear) or type(m).__name__ == "Conv1D"]
        norms = [m for m in block.module.modules() if is_norm(m)]
        self._hooks = [
            block.module.register_forward_pre_hook(self._begin, with_kwargs=True),
            block.module.register_forward_hook(self._end),
            *(module.register_forward_hook(self._see_linear) for module in linear),
            *(module.register_forward_hook(self._see_norm) for module in norms),
        ]

    def _begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._input = _split(args, kwargs)[0]

    def _see_linear(self, module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        design = self.design
        if self._calls and torch.equal(args[0].flatten(), self._calls[-1].output.flatten()):
            if self.projection is None:
                self.projection, self._attended = module, output
            design.feedforward.clear()  # what came before belongs to the attention
        else:
            design.feedforward.append(module)
            design.parallel |= self._reads_input_after_attention(args[0])
        design.norm_last = False
        self._last = output

    def _see_norm(self, module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        design = self.design
        design.norm_first |= self._last is None
        design.norm, design.norm_last = module, True
        design.parallel |= self._reads_input_after_attention(args[0])

    def _reads_input_after_attention(self, given: Tensor) -> bool:
        return self.projection is not None and self._input is not None and torch.equal(given, self._input)

    def _end(self, module: nn.Module, args: object, output: Any) -> None:
        module.__dict__["output_length"] = len(output) if isinstance(output, tuple) else 0
        hidden = output[0] if isinstance(output, tuple) else output
        if self._attended is not None and self._last is not None and self._input is not None:
            total = self._input + self._attended.view_as(hidden) + self._last.view_as(hidden)
            self.adds_up = torch.allclose(total, hidden, rtol=1e-4, atol=1e-4 * float(hidden.abs().max()))

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()


class PretrainedDecoder:
    """Reads one text for each sample (a `generation.decoding.Decoder`); the cache is that of `transformers`.

    next_logits: `PretrainedModule.next_logits` of a language model without encoder
    samples: how many texts
    context: the number of tokens that it attends to
    """

    def __init__(self, next_logits: Callable[[Tensor, Any], tuple[Tensor, Any]], samples: int, context: int) -> None:
        self.next_logits, self.samples, self.context = next_logits, samples, context
        self._cache: Any = None
        self._recent_ids: list[Int[Tensor, " samples"]] = []  # the tokens in the window

    @torch.inference_mode()
    def read(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "samples vocabulary"]:
        ids = ids[:, window_start(ids.shape[1], self.context) :]
        self._recent_ids = list(ids.expand(self.samples, -1).unbind(1))
        logits, self._cache = self.next_logits(ids, None)
        if len(ids) == 1 and self.samples > 1:
            self._cache.batch_repeat_interleave(self.samples)
        return logits.expand(self.samples, -1)

    @torch.inference_mode()
    def step(self, ids: Int[Tensor, " samples"]) -> Float[Tensor, "samples vocabulary"]:
        if len(self._recent_ids) == self.context:
            remaining = self._recent_ids[window_start(self.context + 1, self.context) :]
            return self.read(torch.stack([*remaining, ids], dim=1))
        self._recent_ids.append(ids)
        logits, self._cache = self.next_logits(ids[:, None], self._cache)
        return logits


class PretrainedAttention:
    """One part of the attention of a pretrained model, as inspection sees it (an `AttentionModel`).

    module: the model
    stack: the blocks it is in: "blocks", "encoder" or "decoder"
    attention: "attention", or "cross" for the attention of a decoder to the encoder
    causal: whether it has a causal mask
    target: the ids that the decoder reads, if there is an encoder; every text is then a source
    """

    def __init__(
        self, module: PretrainedModule, stack: str, attention: str, causal: bool, target: tuple[int, ...] = ()
    ) -> None:
        self.module = module
        self.target = target
        self._stack, self._attention = stack, attention
        layers = len(module.stacks[stack])
        answers = module.predicts and stack != "encoder"
        self.layout = AttentionLayout(layers, module.heads[stack], causal, positions=False, answers=answers)
        self.depth_taps = (_EMBEDDED[stack], *(f"{stack}.{layer}.output" for layer in range(layers)))
        self.adds_up = answers and not target and module.linear_readout is not None

    def tap(self, layer: int, name: str) -> str:
        return f"{self._stack}.{layer}.{self._attention}.{name}"

    def logits(self, ids: Sequence[int]) -> Float[Tensor, "answers outcomes"]:
        """Run the model on one text. Raises InvalidSetting for more tokens than it can read."""
        longest, limit = max(len(ids), len(self.target)), self.module.context
        if limit and longest > limit:
            raise InvalidSetting(f"This model reads {limit:,} tokens at once; these are {longest:,}. Shorten the text.")
        target = torch.tensor([self.target]) if self.target else None
        logits: Tensor = self.module(torch.tensor([tuple(ids)]), target)[0]
        return logits

    def readout(self, vectors: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch answers outcomes"]:
        """Return the logits for the output of any block: all blocks are skipped, the rest of the model is its own.

        Raises InvalidSetting for a model without an output layer.
        """
        if not self.layout.answers:
            raise InvalidSetting("This part of the model predicts no tokens, it only makes vectors.")
        rows = vectors.flatten(0, -3)
        ids = torch.full(rows.shape[:2], min(3, self.module.vocabulary - 1))  # the tokens do not matter
        with value_inside(_pass, _Pass(self.module.stacks[self._stack], readout=rows)):
            logits: Tensor = self.module(ids[:, :1] if self.target else ids, ids if self.target else None)
        return logits.view(*vectors.shape[:-1], -1)

    def visible_pairs(self, trace: Mapping[str, Tensor], ids: Sequence[int]) -> Bool[Tensor, "query key"]:
        """Return which query sees which key in any layer: some models let only some layers see the whole text."""
        masks = [trace[self.tap(layer, "mask")] == 0 for layer in range(self.layout.layers)]
        return torch.stack(masks).any(dim=0)

    def position_interventions(self) -> dict[str, Intervention]:
        return {}

    def embed_and_blocks(
        self, ids: Int[Tensor, "rows time"]
    ) -> tuple[Float[Tensor, "rows time width"], list[Callable[[Tensor], Tensor]]]:
        """Return the input of the first block, and the blocks as functions of their input alone.

        The other arguments of the blocks, such as the mask and the positions, are those of a forward pass over `ids`.
        """
        module, embedded = self.module, self.depth_taps[0]
        target = torch.tensor([self.target]).expand(len(ids), -1) if self.target else None
        with value_inside(_pass, _Pass(module.stacks[self._stack])) as now, record(module) as trace:
            module(ids, target)
        return trace[embedded], now.calls

    # ---- Direct logit attribution ----

    def head_outputs(
        self, layer: int, mixed: Float[Tensor, "heads time head_width"]
    ) -> Float[Tensor, "heads time width"]:
        """Return what each head adds to the residual stream, without the bias of the output projection."""
        weight, _ = self.module.output_projection(self._stack, layer)  # (width, heads * head_width)
        return torch.einsum("hti,whi->htw", mixed, weight.reshape(len(weight), len(mixed), -1))

    def attention_bias(self, layer: int) -> Float[Tensor, " width"]:
        """Return the bias of the output projection; zeros if it has none."""
        weight, bias = self.module.output_projection(self._stack, layer)
        return weight.new_zeros(len(weight)) if bias is None else bias

    def direct_logits(
        self, parts: Float[Tensor, "parts width"], final: Float[Tensor, " width"], outcomes: Sequence[int]
    ) -> Float[Tensor, "parts outcomes"]:
        """Return what vectors of the residual stream add to logits; the scale of the final norm is that of `final`."""
        readout = self._linear_readout()
        centered = readout.subtract_mean(final)
        scale = (centered.square().mean() + readout.epsilon).rsqrt()
        return readout.subtract_mean(parts) * scale * readout.gain @ readout.weight[list(outcomes)].T

    def logit_offset(self, outcomes: Sequence[int]) -> Float[Tensor, " outcomes"]:
        """Return the biases of the final norm and of the output layer, as a part of the logits."""
        readout = self._linear_readout()
        chosen = list(outcomes)
        return readout.weight[chosen] @ readout.shift + readout.bias[chosen]

    def _linear_readout(self) -> LinearReadout:
        if self.module.linear_readout is None:
            raise InvalidSetting(
                "The parts of this model are not added up, so its logits cannot be divided among them."
            )
        return self.module.linear_readout


@dataclass(frozen=True, eq=False)
class LinearReadout:
    """The final norm and the output layer of a model: logits = W (gain * x / scale(x) + shift) + bias."""

    centers: bool  # whether the norm subtracts the mean (layer norm), or not (RMS norm)
    epsilon: float
    gain: Float[Tensor, " width"]
    shift: Float[Tensor, " width"]
    weight: Float[Tensor, "vocabulary width"]
    bias: Float[Tensor, " vocabulary"]

    def subtract_mean(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        return x - x.mean(dim=-1, keepdim=True) if self.centers else x
