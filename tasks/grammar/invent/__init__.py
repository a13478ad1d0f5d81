"""Invent names for companies, and for closed-domain variants of databases (GRAMMAR, appendix G)."""
