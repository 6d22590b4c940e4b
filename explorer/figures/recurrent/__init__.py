"""Figures of recurrent networks: gradients over time, memory and recall by length."""
