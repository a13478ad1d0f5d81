"""Environments, one per file; a new file is found automatically."""
