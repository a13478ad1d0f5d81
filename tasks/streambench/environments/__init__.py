"""Environments, one per file; an environment in a new file is found automatically."""
