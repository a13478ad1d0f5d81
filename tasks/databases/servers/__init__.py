"""Databases on PostgreSQL and MariaDB: engines, and the process that reads them."""
