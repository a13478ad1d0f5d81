"""Databases: reflection, and the safe execution of SQL that a model wrote."""
