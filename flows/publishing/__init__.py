"""Publish datasets: choose artifacts, check their sources, write the card, and write or upload the folder."""
