"""Importers of questions that others have published: list questions, and records of TANQ."""
