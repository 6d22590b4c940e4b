"""The shapes of the tensors that most models share, by name."""

from __future__ import annotations

from typing import TypeAlias

from jaxtyping import Complex, Float, Int
from torch import Tensor

Ids: TypeAlias = Int[Tensor, "*replicas batch time"]  # of tokens
Vectors: TypeAlias = Float[Tensor, "*batch time width"]  # one for each token
ClassLogits: TypeAlias = Float[Tensor, "*replicas batch classes"]
Features: TypeAlias = Float[Tensor, "*replicas batch time width"]  # the input of the readout
Rotation: TypeAlias = Complex[Tensor, "time 1 pairs"]  # factors of queries and keys, for rotary positions
Source: TypeAlias = Int[Tensor, "*replicas batch source"]  # ids
Target: TypeAlias = Int[Tensor, "*replicas batch target"]  # ids
TargetLogits: TypeAlias = Float[Tensor, "*replicas batch target vocabulary"]
