"""Write the documents for retrieval, and determine the true documents of questions (GRAMMAR, section 5.1)."""
