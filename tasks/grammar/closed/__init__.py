"""Make closed-domain variants: copies of a database under fictitious names (appendix G.2)."""
