"""Judge answers and interactions (section 4.2)."""
