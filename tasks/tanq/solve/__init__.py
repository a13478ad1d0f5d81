"""Baselines: closed book, oracle, and an agent with search."""
