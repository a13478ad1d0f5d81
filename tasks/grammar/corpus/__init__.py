"""Write the documents for retrieval, and determine the true documents of questions (section 5.1)."""
