"""Analyses: questions planned from a database's own questions, over rows that the model invents."""
