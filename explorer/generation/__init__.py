"""Generation: sampling, decoding with state, streaming, beam search and statistics of generated text.

Start at `generate.py` (continue a prompt) and `sampling.py` (temperature, top-k, top-p, min-p and sampling noise).
"""
