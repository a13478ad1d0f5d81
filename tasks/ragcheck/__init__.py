"""Evaluate RAG systems: judge answers, and run conversations that aim at a reference answer."""
