"""Tokenizers: characters, words, byte pair encoding and WordPiece, each with a lossless JSON form.

Start at `text.py`, which trains a tokenizer on a text and reads it back from JSON.
"""
