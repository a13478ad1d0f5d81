"""Performance benchmarks with reference implementations: `python -m bench` runs all benchmarks."""
