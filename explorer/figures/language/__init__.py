"""Figures of language models: losses by context, perplexity, sampling, tokens and texts."""
