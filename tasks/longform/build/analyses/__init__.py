"""Analyses: questions that are planned from a database's own questions, over rows that a model invents."""
