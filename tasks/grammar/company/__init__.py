"""Generate a fictitious company in six steps (GRAMMAR, appendix G.1)."""
