"""RAG correctness and continuous response: judged answers, and conversations towards a reference answer."""
