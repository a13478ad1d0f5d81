"""Lineage: from a figure, a row or an artifact back to its sources."""
