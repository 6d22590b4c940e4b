from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy import ndarray
from torch import Tensor, nn

from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.taps import intervene, record
from tests.models.translators import PADDING, sources, targets, translator


def array(parameter: Tensor) -> ndarray:
    return parameter.detach().double().numpy()


def matrices(model: EncoderDecoder) -> dict[str, ndarray]:
    return {name: array(parameter) for name, parameter in model.named_parameters()}


def torch_cell(cell: nn.Module) -> nn.GRUCell:
    """Return PyTorch's GRU cell with the same weights."""
    copy = nn.GRUCell(cell.input.weight.shape[1], cell.hidden).double()
    for name, layer in (("ih", cell.input), ("hh", cell.recurrent)):
        getattr(copy, f"weight_{name}").data = layer.weight.detach().double()
        getattr(copy, f"bias_{name}").data = layer.bias.detach().double()
    return copy


def step(cell: nn.GRUCell, x: ndarray, h: ndarray, extra: ndarray | None = None) -> ndarray:
    """Run one step of a GRU cell; `extra` is a second input, multiplied by the weights in `cell.told`."""
    with torch.no_grad():
        if extra is not None:
            wide = nn.GRUCell(len(x) + len(extra), cell.hidden_size).double()
            wide.weight_ih.data = torch.cat((cell.weight_ih, cell.told), dim=1)
            wide.weight_hh, wide.bias_ih, wide.bias_hh = cell.weight_hh, cell.bias_ih, cell.bias_hh
            return wide(torch.from_numpy(np.concatenate((x, extra)))[None], torch.from_numpy(h)[None])[0].numpy()
        return cell(torch.from_numpy(x)[None], torch.from_numpy(h)[None])[0].numpy()


def reference(model: EncoderDecoder, source: list[int], target: list[int]) -> ndarray:
    """Compute the equations of both papers, one row and one step at a time, with PyTorch's GRU cell."""
    m = matrices(model)
    encoder, decoder = torch_cell(model.encoder), torch_cell(model.decoder)
    decoder.told = torch.from_numpy(m["told.weight"])
    x = m["embedding.source.weight"][source]
    h, forward = np.zeros(model.encoder.hidden), []
    for each in x:
        h = step(encoder, each, h)
        forward.append(h)
    if model.attention is None:
        c = np.tanh(m["summary.squeeze.weight"] @ h + m["summary.squeeze.bias"])
        s = np.tanh(m["start.weight"] @ c + m["start.bias"])
    else:
        g, backward = np.zeros(model.encoder.hidden), []
        for each in x[::-1]:
            g = step(torch_cell(model.backward_encoder), each, g)
            backward.insert(0, g)
        annotations = np.concatenate((forward, backward), axis=1)
        s = np.tanh(m["start.weight"] @ backward[0] + m["start.bias"])
    logits = []
    for y in m["embedding.target.weight"][target]:
        if model.attention is not None:
            energies = np.array(
                [
                    m["attention.score.weight"][0]
                    @ np.tanh(
                        m["attention.query.weight"] @ s + m["attention.query.bias"] + m["attention.key.weight"] @ each
                    )
                    for each in annotations
                ]
            )
            weights = np.exp(energies) / np.exp(energies).sum()
            c = weights @ annotations
        s = step(decoder, y, s, c)
        logits.append(m["readout.weight"] @ np.concatenate((s, y, c)) + m["readout.bias"])
    return np.array(logits)


@pytest.mark.parametrize("kind", ["vector", "additive"])
def test_equals_the_equations_of_the_papers(kind: str) -> None:
    model, source, target = translator(kind), sources(4), targets(4)
    assert isinstance(model, EncoderDecoder)
    logits = model(source, target).detach().numpy()
    for row in range(4):
        ids = [i for i in source[row].tolist() if i != PADDING]
        np.testing.assert_allclose(logits[row], reference(model, ids, target[row].tolist()), atol=1e-5)


def test_attention_to_a_single_source_token_is_one() -> None:
    model = translator("additive")
    with record(model) as trace:
        model(torch.tensor([[3]]), targets(1))
    assert trace["attention.weights"].unique().tolist() == [1.0]
    torch.testing.assert_close(
        trace["attention.context"], trace["attention.annotations"].expand_as(trace["attention.context"])
    )


def test_without_attention_the_decoder_depends_on_the_source_only_through_the_vector() -> None:
    model, target = translator("vector"), targets(2)
    with intervene(model, {"summary.vector": lambda value, step: torch.zeros_like(value)}):
        one = model(torch.tensor([[0, 2, 5], [4, 4, 4]]), target[:1].expand(2, -1))
    torch.testing.assert_close(one[0], one[1])


def test_a_replaced_context_is_used_by_the_state_and_by_the_logits() -> None:
    model, target = translator("additive"), targets(1)
    source = torch.tensor([[0, 2, 5]])
    with record(model) as trace:
        unchanged = model(source, target)
    zero = {"attention.context": lambda value, step: torch.zeros_like(value)}
    with intervene(model, zero), record(model) as cut_trace:
        without = model(source, target)
    assert not torch.allclose(cut_trace["decoder.state"][:, 0], trace["decoder.state"][:, 0])
    states, y = cut_trace["decoder.state"], model.embedding["target"](target)
    torch.testing.assert_close(
        without, model.readout(torch.cat((states, y, torch.zeros_like(cut_trace["attention.context"])), dim=-1))
    )
    assert not torch.allclose(unchanged, without)
