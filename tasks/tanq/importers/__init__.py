"""Importers of published questions: list questions of QAMPARI, and records of TANQ."""
