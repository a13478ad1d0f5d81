"""Hooks, a file each: the shipped one, and those of a project's own; docs/plugs.md says what a file holds."""
