"""Publish a database's dataset: check the contracts, and write the card and the page."""
