"""Generation: sampling, decoding with state, streaming, beam search and statistics of generated text.

Start at `generate.py` (continue a prompt) and `sampling.py` (temperature, top-k, top-p, min-p and sampling noise).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.generation.generate import TextGenerator as TextGenerator
    from explorer.generation.generate import generate_ids as generate_ids
    from explorer.generation.generate import prompt_ids as prompt_ids
    from explorer.generation.sampling import Sampling as Sampling
    from explorer.generation.seq2seq_decoding import beam_search as beam_search
    from explorer.generation.seq2seq_decoding import greedy_decode as greedy_decode
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
