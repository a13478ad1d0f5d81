"""Build and score TANQ: list questions extended with relations, answered by tables with evidence per cell."""
