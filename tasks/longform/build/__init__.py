"""Build questions, the databases that answer them, and their reference answers (section 2 of the paper)."""
