"""Measurements on trained models: attention, gradients, gates, generated text, comparisons between runs.

Start at `load_model.py` (the model of a stored run); the subpackages are ordered by the kind of model.
"""
