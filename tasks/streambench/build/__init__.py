"""Build datasets, streams and the order of their items (section 3)."""
