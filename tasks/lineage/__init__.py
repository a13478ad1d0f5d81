"""Lineage: trace a figure, a row or an artifact back to its sources."""
