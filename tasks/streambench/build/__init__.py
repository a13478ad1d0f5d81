"""Build datasets and ordered streams of items (section 3)."""
