"""GRAMMAR: grounded question generation from a database (paper 003)."""
