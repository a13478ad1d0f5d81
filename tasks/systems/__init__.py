"""Systems under test: whatever answers a question, and the reference RAG among them."""
