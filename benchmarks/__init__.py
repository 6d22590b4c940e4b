"""The performance claims, each a runnable script."""
