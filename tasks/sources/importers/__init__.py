"""Importers, one per file, which is named like the importer; docs/plugs.md describes such a file."""
