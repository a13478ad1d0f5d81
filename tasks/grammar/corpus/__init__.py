"""Write the documents to retrieve from, and map questions to their true documents (section 5.1)."""
