"""Evaluate RAG systems: judge answers, and run conversations that try to obtain a reference answer."""
