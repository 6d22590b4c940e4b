"""The types of arrays and tensors with their shapes, for modules that are imported before numpy is needed.

jaxtyping imports numpy. Annotations are not evaluated while the program runs, so these names are only needed by type
checkers, and by the tests, which check the shapes of arrays at each call (beartype).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or "beartype" in sys.modules:
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
    from jaxtyping import Int32 as Int32
    from jaxtyping import Integer as Integer
    from jaxtyping import UInt32 as UInt32
else:
    Bool = Float = Int = Int32 = Integer = UInt32 = object
