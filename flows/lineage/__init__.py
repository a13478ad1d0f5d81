"""Lineage's access to git, DVC and the flows."""
