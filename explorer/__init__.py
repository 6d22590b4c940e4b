"""Lineage: how language models grew, from counting words to the Transformer."""
