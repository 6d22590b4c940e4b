from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy import ndarray
from torch import Tensor, nn

from explorer.models.encoder_decoder import EncoderDecoder
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
