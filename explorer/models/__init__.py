"""The neural networks and the n-gram, in PyTorch, with their configurations; they know no task and no training loop.

Start at `configs.py` (settings of every model), `layers.py` (layers with a leading replica axis) and `taps.py` (how
intermediate values are recorded and changed).
"""
