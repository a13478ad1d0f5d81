"""Importers of published datasets for ragcheck."""
