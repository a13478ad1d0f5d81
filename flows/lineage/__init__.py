"""Read the data for lineage from git, DVC and the flows."""
