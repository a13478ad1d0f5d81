"""The parts of lineage that read git, DVC and the flows."""
