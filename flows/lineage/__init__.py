"""What lineage needs of git, DVC and the flows."""
