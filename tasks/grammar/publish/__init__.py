"""A database's dataset: its contracts, its card and its page."""
