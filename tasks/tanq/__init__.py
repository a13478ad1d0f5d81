"""Build and score TANQ: questions whose answers are tables, with evidence for each cell."""
