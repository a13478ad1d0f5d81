"""Importers of what others have published for ragcheck."""
