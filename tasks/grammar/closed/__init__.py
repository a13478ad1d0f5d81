"""Closed-domain variants: a database under fictitious names (appendix G.2)."""
