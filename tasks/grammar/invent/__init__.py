"""Invent names for companies and closed-domain variants (appendix G)."""
