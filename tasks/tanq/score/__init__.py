"""Scores of predicted tables, and what went wrong in them."""
