"""The performance claims, each a script: `python -m benchmarks` lists them."""
