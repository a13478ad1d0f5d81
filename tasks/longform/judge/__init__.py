"""Judge answers and interactions (section 4.2 of the paper)."""
