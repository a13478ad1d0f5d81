"""Scratch databases: tables from a schema, and rows from a model's reply, within limits."""
