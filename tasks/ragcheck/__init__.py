"""RAG correctness and continuous response: judged answers, and conversations that seek a reference."""
