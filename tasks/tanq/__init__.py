"""TANQ: list questions extended with relations of a graph, answered by tables whose cells have evidence."""
