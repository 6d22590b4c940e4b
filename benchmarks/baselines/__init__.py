"""Baselines: the training loops that the claims compare with, in plain PyTorch. Nothing of `explorer` is used."""
