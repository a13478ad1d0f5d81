"""Importers of what a person wrote for grammar."""
