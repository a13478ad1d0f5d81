"""State the results of an analysis in words: figures, conclusions, and rules for the invented rows."""
