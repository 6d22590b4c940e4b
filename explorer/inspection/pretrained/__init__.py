"""Experiments with real pretrained models over many texts, with intervals and controls."""
