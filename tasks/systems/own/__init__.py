"""Plug-ins for the project's systems under test, one file per system (docs/plugs.md)."""
