"""Curves as tensors (`curves.safetensors`), as an archive carries them. Needs no torch.

The header of a safetensors file contains every size, and the library refuses a file whose sizes are not those of its
content. So reading one never takes more memory than the file has bytes.

losses, tokens, seconds, evaluated          as in `Curves`
metric.NAME, answer.NAME, signal.NAME       likewise
sample, sample_end                          all generated texts as UTF-8, one after another, and where each ends
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy import ndarray

from explorer.training import objective
from explorer.training.record import Curves

_ARRAYS = ("losses", "tokens", "seconds", "evaluated")


def to_tensors(curves: Curves) -> dict[str, ndarray]:
    """Return the tensors of curves."""
    tensors: dict[str, ndarray] = {name: getattr(curves, name) for name in _ARRAYS}
    for kind, group in (("metric", curves.metrics), ("answer", curves.answers), ("signal", curves.signals)):
        tensors |= {f"{kind}.{name}": values for name, values in group.items()}
    if curves.samples:
        texts = [[text.encode() for text in of_evaluation] for of_evaluation in curves.samples]
        tensors["sample"] = np.frombuffer(b"".join(text for each in texts for text in each), np.uint8)
        lengths = np.array([[len(text) for text in each] for each in texts])
        tensors["sample_end"] = np.cumsum(lengths).reshape(lengths.shape)
    return {name: np.ascontiguousarray(values) for name, values in tensors.items()}


def expected_shapes(
    layout: objective.RecordLayout, steps: int, evaluations: int, replicas: int, sample_bytes: int
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return the shape and dtype of each tensor for a task's curves of this length."""
    per_step, per_evaluation = (steps, replicas), (evaluations, replicas)
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        "losses": (per_step, "float32"),
        "tokens": ((steps + 1,), "float64"),
        "seconds": ((steps + 1,), "float64"),
        "evaluated": ((evaluations,), "int64"),
        **{f"metric.{name}": (per_evaluation, "float32") for name in layout.metrics},
        **{f"answer.{name}": ((*per_evaluation, parts), "float32") for name, parts in layout.answers.items()},
        **{f"signal.{name}": (per_step, "float32") for name in layout.signals},
    }
    if layout.samples:
        shapes |= {"sample": ((sample_bytes,), "uint8"), "sample_end": (per_evaluation, "int64")}
    return shapes


def from_tensors(tensors: Mapping[str, ndarray], layout: objective.RecordLayout, first: int) -> Curves:
    """Return the curves of tensors that have the expected shapes. Raises ValueError for impossible samples."""
    samples: tuple[tuple[str, ...], ...] = ()
    if "sample" in tensors:
        content, ends = tensors["sample"].tobytes(), tensors["sample_end"].ravel()
        starts = np.concatenate([np.zeros(1, np.int64), ends])
        if (np.diff(starts) < 0).any() or starts[-1] != len(content):
            raise ValueError("the ends of the samples do not increase up to the end of their text")
        texts = [content[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=False)]
        replicas = tensors["sample_end"].shape[1]
        samples = tuple(tuple(texts[i : i + replicas]) for i in range(0, len(texts), replicas))
    return Curves(
        first,
        **{name: tensors[name] for name in _ARRAYS},
        metrics={name: tensors[f"metric.{name}"] for name in layout.metrics},
        answers={name: tensors[f"answer.{name}"] for name in layout.answers},
        signals={name: tensors[f"signal.{name}"] for name in layout.signals},
        samples=samples,
    )
