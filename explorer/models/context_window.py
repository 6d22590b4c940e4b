"""Which of the tokens that a Transformer has read it attends to, when they do not all fit into its context."""

from __future__ import annotations


def window_start(read: int, context: int) -> int:
    """Return the index of the first token in the window of a Transformer after `read` tokens.

    The window holds all tokens while they fit into the context. When it is full, its older half is dropped and the
    rest is read again at new positions. So the window always has between half and all of the context, and the cost of
    reading again is small. Dropping one token at every step would require reading everything again each time, because
    from the second block on the vectors of a token depend on the tokens before it.

    The result depends on the number of tokens only, so a text generated in two parts equals one generated at once.
    """
    dropped = (context + 1) // 2
    return 0 if read <= context else -(-(read - context) // dropped) * dropped
