"""Systems under test: their interface, adapters for users' systems, and the built-in reference RAG."""
