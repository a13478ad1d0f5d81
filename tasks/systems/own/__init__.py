"""Plugs with a project's own systems, one file per system (docs/plugs.md)."""
