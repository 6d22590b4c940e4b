from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy import ndarray
from torch import nn

from explorer.errors import InvalidSetting
from explorer.inspection.transformer.block import BlockDiagram, block_diagram
from explorer.models import configs
from explorer.models.bag_of_words import BagOfWords
from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.models.taps import record
from explorer.models.transformer_decoder import TransformerDecoder, rotate, rotations, sinusoids
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder
from explorer.seeds import generator

IDS, TARGET = (3, 1, 4, 1, 5), (9, 2, 6)
SMALL: dict[str, Any] = {"width": 8, "heads": 2, "layers": 3, "hidden": 12}
MODELS = {
    "encoder": lambda: TransformerEncoder(configs.TransformerEncoderConfig(**SMALL), 10, 2, 9, generator(0, "t")),
    "pre": lambda: decoder(norm_place="pre", positions="rotary", activation="relu2"),
    "post": lambda: decoder(norm_place="post", positions="learned", activation="gelu", biases=True),
    "rms": lambda: decoder(norm="rms", positions="sinusoidal", activation="relu"),
    "bare": lambda: decoder(norm="none", positions="none"),
    "both": lambda: encoder_decoder(norm_place="post", positions="learned"),
    "both-pre": lambda: encoder_decoder(norm_place="pre", positions="sinusoidal", activation="gelu"),
}


def decoder(**settings: Any) -> TransformerDecoder:
    config = configs.TransformerTextConfig(**{"start": "usual", **SMALL, **settings})
    return TransformerDecoder(config, 10, 16, generator(0, "t"))


def encoder_decoder(**settings: Any) -> TransformerEncoderDecoder:
    return TransformerEncoderDecoder(TransformerEncoderDecoderConfig(**SMALL, **settings), 10, 11, 9, generator(0, "t"))


def build(name: str) -> nn.Module:
    """Return a model whose gains and biases are not ones and zeros."""
    model = MODELS[name]().eval()
    random = generator(1, "t")
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=random)
    return model


def diagram_of(name: str, layer: int) -> BlockDiagram:
    return block_diagram(build(name), IDS, layer, TARGET if name.startswith("both") else ())


def softmax(x: ndarray) -> ndarray:
    return torch.from_numpy(x.copy()).softmax(-1).numpy()


def recompute(diagram: BlockDiagram, name: str) -> ndarray | None:
    """Compute an operation from its inputs and the parameters of its box, with numpy only."""
    flow = diagram.flows[name]
    ins = [diagram.flows[each].values for each in flow.ins]
    parameters = [diagram.parameters[each] for each in flow.parameters]
    x = ins[0] if ins else np.zeros(0)
    time = x.shape[-2] if x.ndim > 1 else 0
    match flow.made:
        case "lookup":
            return parameters[0][x[:, 0].astype(int)]
        case "place":
            return x + parameters[0][:time]
        case "sines":
            return x + sinusoids(time, x.shape[1]).numpy()
        case "layernorm":
            normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
            return normal * parameters[0] + (parameters[1] if len(parameters) > 1 else 0)
        case "rmsnorm":
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * parameters[0]
        case "project":
            heads, _, width = flow.values.shape
            weight = parameters[0][flow.offset : flow.offset + heads * width]
            return (x @ weight.T).reshape(time, heads, width).transpose(1, 0, 2)
        case "turn":
            split = torch.from_numpy(x.copy()).transpose(0, 1).contiguous()
            return rotate(split, rotations(time, x.shape[-1])).transpose(0, 1).numpy()
        case "scores":
            return x @ ins[1].transpose(0, 2, 1) / np.sqrt(x.shape[-1])
        case "weights":
            return softmax(x + ins[1])
        case "mixed":
            return x @ ins[1]
        case "linear":
            rows = x.transpose(1, 0, 2).reshape(x.shape[1], -1) if x.ndim == 3 else x
            return rows[: flow.values.shape[0]] @ parameters[0].T + (parameters[1] if len(parameters) > 1 else 0)
        case "relu":
            return np.maximum(x, 0)
        case "relu2":
            return np.maximum(x, 0) ** 2
        case "gelu":
            return torch.nn.functional.gelu(torch.from_numpy(x.copy())).numpy()
        case "sum":
            return x + ins[1]
        case "softmax":
            return softmax(x)
    assert flow.made in ("ids", "mask", "blocks"), flow.made
    return None


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_the_numbers_of_all_boxes_are_those_of_the_model(name: str, layer: int) -> None:
    diagram, model = diagram_of(name, layer), build(name)
    recomputed = {name: values for name in diagram.flows if (values := recompute(diagram, name)) is not None}
    for each, values in recomputed.items():
        np.testing.assert_allclose(values, diagram.flows[each].values, atol=1e-5, rtol=1e-5, err_msg=each)
    ids = [torch.tensor([IDS])] + ([torch.tensor([TARGET])] if name.startswith("both") else [])
    with record(model) as trace, torch.inference_mode():
        answer = model(*ids)
    logits = next(flow for each, flow in diagram.flows.items() if each.endswith("readout.out"))
    np.testing.assert_allclose(logits.values, answer.numpy() if name == "encoder" else answer[0].numpy(), atol=1e-5)
    tapped = [flow for flow in diagram.flows.values() if flow.tap]
    assert len(recomputed) >= 15 and len(tapped) >= 8
    for flow in tapped:
        saw = trace[flow.tap].numpy()
        np.testing.assert_array_equal(flow.values, saw if flow.tap.endswith(".mask") else saw[0])
    count = sum(p.numel() for p in model.parameters())
    assert sum(map(diagram.count_parameters, diagram.boxes)) == diagram.total_parameters == count
    boxes = {box.name: box for box in diagram.boxes}
    for arrow in diagram.arrows:
        flow = diagram.flows[arrow.flow]
        if arrow.start:
            assert boxes[arrow.start].flows[-1] in (flow.name, flow.same)
        if arrow.end:
            assert any(arrow.flow in diagram.flows[inner].ins for inner in boxes[arrow.end].flows)
    assert {arrow.start for arrow in diagram.arrows if arrow.start} == set(boxes), "no box stands alone"


def test_the_diagram_follows_the_configuration() -> None:
    titles = {name: [box.title for box in diagram_of(name, 1).boxes] for name in MODELS}
    assert titles["pre"][1:6] == ["Block 1", "Norm 1", "Masked attention", "Sum", "Norm 2"]
    assert titles["post"][1:7] == ["Positions", "Block 1", "Masked attention", "Sum", "Norm 1", "Feedforward"]
    assert "Final norm" in titles["pre"] and "Final norm" not in titles["post"]
    assert not any("orm" in title for title in titles["bare"])
    assert titles["both"].count("Cross-attention") == 1
    inside = diagram_of("pre", 0).boxes[2].flows
    assert "attention.queries_still" in inside, "what is turned is shown before and after"
    assert [box.title for box in diagram_of("pre", 0).boxes if box.kind == "blocks"] == ["Blocks 2 to 3"]


def test_models_and_blocks_without_a_diagram_are_rejected() -> None:
    assert block_diagram(build("pre"), (3,), 0).flows["attention.weights"].values.tolist() == [[[1.0]], [[1.0]]]
    for layer in (-1, 3):
        with pytest.raises(InvalidSetting, match=f"There is no block {layer + 1}"):
            block_diagram(build("pre"), IDS, layer)
    with pytest.raises(InvalidSetting, match="BagOfWords has no blocks"):
        block_diagram(BagOfWords(configs.BagOfWordsConfig(), 5, 2, 4, generator(0, "t")), IDS, 0)
