"""From a schema to questions with answers (GRAMMAR, sections 4.1 and 4.2)."""
