"""Build datasets, and streams with ordered items (section 3)."""
