"""Databases on PostgreSQL and MariaDB: the engines, and the reader process."""
