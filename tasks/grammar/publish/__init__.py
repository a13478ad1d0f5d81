"""The dataset of a database: its contracts, its card and its page."""
