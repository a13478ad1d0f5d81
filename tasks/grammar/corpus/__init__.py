"""The documents to retrieve from, and the questions that they are true for (section 5.1)."""
