"""Hostile input for `benchmarks.hostile`: addresses, archives, and the nine attacks of issue 21."""
