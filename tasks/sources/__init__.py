"""Importers of raw data, one per file."""
