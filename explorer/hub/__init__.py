"""Real pretrained models of the `transformers` library, with the taps of our own models.

`transformers` is an optional dependency (requirements-models.txt) and is imported when a model is opened.
"""
