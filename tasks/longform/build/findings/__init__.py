"""Write the outcome of an analysis in words: claim, answer and supporting rows."""
