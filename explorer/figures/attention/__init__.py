"""Figures of attention: predictions by layer, the importance of heads, activation patching."""
