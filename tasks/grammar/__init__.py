"""Build question sets and document corpora from a database, and assess RAG systems (GRAMMAR, paper 003)."""
