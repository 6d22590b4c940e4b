"""Figures of the parts of a Transformer: depth, positions, masks, the width of heads, costs and sizes."""
