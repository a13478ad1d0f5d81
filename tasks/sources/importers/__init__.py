"""Importers, each in a file with the importer's name; docs/plugs.md describes how to write an importer."""
