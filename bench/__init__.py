"""Benchmarks, each against a reference: `python -m bench` runs all."""
