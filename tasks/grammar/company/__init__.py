"""A fictitious company, made from nothing in six steps (GRAMMAR, appendix G.1)."""
