"""Make closed-domain variants: copies of a database with fictitious names (appendix G.2)."""
