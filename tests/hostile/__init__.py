"""A corpus of hostile inputs, as data, and one runner for all of its kinds."""
