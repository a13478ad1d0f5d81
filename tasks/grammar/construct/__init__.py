"""Build questions with answers from a database schema (GRAMMAR, sections 4.1 and 4.2)."""
