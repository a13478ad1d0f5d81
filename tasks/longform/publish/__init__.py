"""Publish a question set or an evaluation: statistics, figures, contracts and report pages."""
