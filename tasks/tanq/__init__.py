"""TANQ: list questions extended with relations of a graph, and answered by tables with evidence per cell."""
