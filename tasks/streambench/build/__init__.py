"""Datasets, streams and their sequences (section 3)."""
