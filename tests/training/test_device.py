"""Trainings on another device than the processor. The meta device stands for a GPU, so no GPU is needed."""

from __future__ import annotations

import platform
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from explorer.catalogue import TASKS, models_of
from explorer.errors import InvalidSetting
from explorer.tasks.own_sentences import own_task
from explorer.tasks.sequence_labelling import agreement
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.device import training_device
from explorer.training.events import Checkpoint, Evaluation, Started, Step
from explorer.training.machine import machine_kind
from explorer.training.objectives import recall
from explorer.training.train import train
from tests.training.objectives import test_own_pairs, test_own_sentences

META = torch.device("meta")


class SecondDevice(TorchDispatchMode):
    """Makes the meta device behave as a GPU on which every number is 0 (or True).

    Copies to the processor are zeros. An operation on tensors of both devices raises, as with a GPU; but tensors of
    the processor with one number may take part, and some operations of the meta device itself would not raise.
    """

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> object:
        aten, values = torch.ops.aten, tree_leaves((args, kwargs or {}))
        tensors = [each for each in values if isinstance(each, Tensor)]
        devices = {each.device.type for each in tensors if each.dim() or each.is_meta}
        packet = function.overloadpacket
        if len(devices) > 1 and packet not in (aten.copy_, aten._has_compatible_shallow_copy_type):
            raise AssertionError(f"{function} has tensors on two devices")
        if "meta" in devices:
            if packet in (aten._local_scalar_dense, aten.item, aten.is_nonzero):
                return args[0].dtype == torch.bool
            if packet in (aten._to_copy, aten.to) and torch.device("cpu") in values:
                types = [each for each in values if isinstance(each, torch.dtype)]
                return torch.zeros(args[0].shape, dtype=types[0] if types else args[0].dtype)
            chosen = args[1][0] if packet is aten.index else None
            if chosen is not None and chosen.dtype == torch.bool:  # the meta device cannot count what is chosen
                return args[0].flatten(0, chosen.dim() - 1)[: chosen.numel() // 2]
        return function(*args, **kwargs or {})


DATA = {"corpus": "brackets", "size": 3_000, "context": 20, "batch_size": 4, "evaluation_size": 100}
SHORT: dict[str, dict[str, object]] = {  # of a task; the others take one step of their defaults
    "negation": {"epochs": 1, "batch_size": 800},
    "text": DATA,
    "recall": {"length": 3},
    "reverse": {"longest": 3},
    "copy": {"longest": 3},
    "place": {"length": 4},
    "tale": {"length": 6},
    "noise": {"length": 5},
    "word_vectors": {"sentences": 200},
}
SPECIAL: dict[str, tuple[str, str, dict[str, object]]] = {  # settings that have code of their own
    "dropout": ("text", "feedforward", {"dropout": 0.1, "batch_norm": True}),
    "large vocabulary": ("text", "feedforward", {"batch_size": 1, "context": 4}),
    "carried state": (
        "text",
        "lstm",
        {"batches": "contiguous", "dropout": 0.1, "layers": 2, "iterations": 2, "snapshots": 3},
    ),
    "samples": ("text", "gru", {"sample": 3}),
    "prefixes": ("text", "rnn", {"rows": "prefixes", "split": "sentences", "size": 1_000}),
    "sinusoidal": ("text", "transformer", {"positions": "sinusoidal", "dropout": 0.1, "context": 8}),
    "rotary": ("text", "transformer", {"positions": "rotary", "average": 0.9, "patience": 1}),
    "Muon": ("text", "transformer", {"method": "muon", "clip": 1.0}),
    "SGD": ("negation", "rnn", {"method": "sgd", "clip": 1.0}),
    "RMSProp": ("negation", "rnn", {"method": "rmsprop"}),
    "sinusoidal recall": ("recall", "transformer", {"positions": "sinusoidal", "sequences": 32}),
    "without recurrence": ("string", "rnn", {"recurrent": False}),
    "attention": ("reverse", "encoder_decoder", {"attention": "additive"}),
    "sinusoidal translation": ("reverse", "transformer_encoder_decoder", {"positions": "sinusoidal"}),
    "sinusoidal tagger": ("place", "transformer", {"positions": "sinusoidal", "causal": True}),
    "rotary tagger": ("place", "transformer", {"positions": "rotary"}),
}
LAST_TASKS = sorted({row.objective: task for task, row in TASKS.items()}.values())  # one of each objective
CASES: dict[str, tuple[str, str, dict[str, object]]] = {
    **{f"{task}, {model}": (task, model, {}) for task in LAST_TASKS for model in models_of(task) if model != "ngram"},
    **SPECIAL,
}


def short(task: str, model: str, **changes: object) -> RunConfig:
    steps = {} if task == "negation" else {"iterations": 1}
    few = {"snapshots": 2, "evaluate_every": 0, **SHORT.get(task, {})}
    return with_settings(default_config(task, model), {**steps, **few, **changes})


def assert_trains(config: RunConfig) -> None:
    """Train on the second device, and go on there from the last checkpoint before the end."""
    with SecondDevice():
        events = list(train(config, device=META))
        *_, checkpoint, _ = (event for event in events if isinstance(event, Checkpoint))
        resumed = train(config, checkpoint, device=META)
        assert any(isinstance(event, Step) for event in resumed)
    assert {type(event) for event in events} >= {Started, Step, Evaluation, Checkpoint}
    for event in events:
        tensors = tree_leaves([getattr(event, name) for name in getattr(event, "__slots__", ())])
        assert not any(isinstance(each, Tensor) and each.is_meta for each in tensors), event


@pytest.fixture(autouse=True)
def few_clauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "evaluation_lengths", lambda length: (1, length))
    monkeypatch.setattr(agreement, "evaluation_clauses", partial(agreement.evaluation_clauses, count=8))


@pytest.mark.parametrize("case", CASES)
def test_every_model_trains_on_another_device(case: str) -> None:
    task, model, changes = CASES[case]
    assert_trains(short(task, model, **{"replicas": 1 if case in SPECIAL else 2, **changes}))


def test_own_tables_train_on_another_device() -> None:
    sentences = short("negation", "bag_of_bigrams", replicas=2, batch_size=16)
    assert_trains(replace(sentences, task=own_task(corpora.store_text(test_own_sentences.TABLE))))
    assert_trains(test_own_pairs.config("encoder_decoder", iterations=1))


def test_an_ngram_is_counted_on_the_processor() -> None:
    events = list(train(short("text", "ngram", n=2), device=META))
    assert isinstance(events[-1], Checkpoint) and not any(each.is_meta for each in events[-1].weights.values())


def test_the_start_and_the_order_of_the_data_are_the_same_on_every_device() -> None:
    """All random numbers are drawn on the processor: no generator and no random operation is on the device."""
    drawn: list[str] = []

    class Draws(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> object:
            result = function(*args, **kwargs or {})
            if torch.Tag.nondeterministic_seeded in function.tags:
                drawn.extend(each.device.type for each in tree_leaves(result) if isinstance(each, Tensor))
            return result

    with SecondDevice(), Draws():
        list(train(short("text", "feedforward", dropout=0.1), device=META))
    assert set(drawn) == {"cpu"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda", r"LINEAGE_DEVICE = cuda is not possible: PyTorch finds no GPU with CUDA on the machine that trains"),
        ("cuda:3", r"LINEAGE_DEVICE = cuda:3 is not possible: PyTorch finds no GPU"),
        ("mps", r"LINEAGE_DEVICE = mps is not possible: the machine that trains has no GPU of an Apple processor"),
    ],
)
def test_a_device_that_this_machine_lacks_is_refused(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setenv("LINEAGE_DEVICE", name)
    with pytest.raises(InvalidSetting, match=message + r".*\. Set it to auto or cpu\."):
        next(train(short("negation", "rnn")))


def test_auto_takes_a_gpu_if_there_is_one_and_a_gpu_beyond_the_last_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_DEVICE", "auto")
    for mps, cuda, found in ((False, False, "cpu"), (True, False, "mps"), (False, True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert training_device().type == found
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LINEAGE_DEVICE", "cuda:1")
    assert training_device() == torch.device("cuda:1")
    monkeypatch.setenv("LINEAGE_DEVICE", "cuda:2")
    with pytest.raises(InvalidSetting, match="the machine that trains has the GPUs cuda:0 to cuda:1"):
        training_device()


def test_the_kind_of_machine_names_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA  A100")
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    kinds = [machine_kind(torch.device(name)) for name in ("cpu", "cuda:7", "mps")]
    assert kinds[0] == machine_kind() and len(set(kinds)) == 3
    assert f"NVIDIA A100, CUDA 12.4, torch {torch.__version__}" in kinds[1] and "GPU of" in kinds[2]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor : 0\nmodel name\t: Fast  CPU®  3\n", "Fast CPU 3"),
        ("Model : Board 4\n", "Board 4"),
        (f"model name: {'x' * 130}", "x" * 120),
        ("nothing", "unnamed processor"),
    ],
)
def test_the_processor_is_named_as_it_names_itself(text: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "x86")
    monkeypatch.setattr(Path, "read_text", lambda *_: text)
    machine_kind.cache_clear()
    assert machine_kind() == f"x86, {name}, torch {torch.__version__}"
    machine_kind.cache_clear()
