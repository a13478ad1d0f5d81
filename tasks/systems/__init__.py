"""Systems under test: the interface, adapters for users' systems, and the reference RAG."""
