"""Publish the dataset of a database: check its contracts, and write its card and its page."""
