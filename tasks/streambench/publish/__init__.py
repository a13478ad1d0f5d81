"""Scores, curves, tables and pages (sections 4.3 and 5, appendices)."""
