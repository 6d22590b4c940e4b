"""Figures of words: the negation task, word vectors and senses."""
