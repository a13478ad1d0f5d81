"""The HTML site."""
