"""Importers of a project's own, a file each, by name; docs/plugs.md says what a file holds."""
